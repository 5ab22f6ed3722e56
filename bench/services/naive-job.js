export const QUEUE = 'naive-leads';

/** Of the worker that does nothing: the same jobs, and a queue of its own, so that both stay up. */
export const NOOP_QUEUE = 'noop-leads';

/** As the documentation of BullMQ has it, and as Leadgate's own. */
export const JOB_OPTIONS = {
  attempts: 5,
  backoff: { type: 'exponential', delay: 1_000 },
  removeOnComplete: true,
};

/**
 * @typedef {import('./http-service.js').ReadLead & {
 *   leadId: string, workspaceId: string, linkId: string
 * }} NaiveJob
 */
