import { tail, type TailEvent } from '@leadgate/operations';
import { openFailedJobs } from '@leadgate/queue';
import { listWorkspaces, type SubmissionSummary } from '@leadgate/store';
import type { Command } from 'commander';
import { setTimeout as delay } from 'node:timers/promises';
import { type Context, describe, type JsonOption, remark } from '../command.ts';
import { stopOnInterrupt } from '../io.ts';
import { findLinkNamed } from '../named.ts';
import { showable, showableJson } from '../print/showable.ts';
import { maskText, shortTime } from '../print/table.ts';

interface TailOptions extends JsonOption {
  show?: boolean;
}

const EVERY_MS = 1_000;

export function addTail(command: Command, context: Context): void {
  describe(command, {
    details: 'Personal data is masked unless --show is given. Ctrl-C ends it.',
    examples: ['tail summer-sale', 'tail summer-sale --show --json | jq .lead'],
  })
    .argument('[link]', 'only of this link: code, id or capture URL')
    .option('--show', 'show personal data')
    .action((link: string | undefined, options: TailOptions) => follow(context, link, options));
}

async function follow(
  { io, session }: Context,
  named: string | undefined,
  { show = false, json = false }: TailOptions,
): Promise<void> {
  const store = session.store();
  const found = named === undefined ? null : await findLinkNamed(store, named);
  const failed = openFailedJobs(await session.redis());
  const interrupt = stopOnInterrupt();
  const { signal } = interrupt;
  try {
    if (!json) remark(io, 'following; Ctrl-C ends it.');
    const events = tail(
      { store, failed },
      {
        ...(found !== null && { of: { linkId: found.id, workspaceId: found.workspaceId } }),
        workspaceIds: async () => (await listWorkspaces(store)).map(({ id }) => id),
        signal: io.signal === undefined ? signal : AbortSignal.any([signal, io.signal]),
        wait: () => delay(EVERY_MS, undefined, { signal }).catch(() => undefined),
      },
    );
    for await (const event of events)
      io.out(json ? `${showableJson(JSON.stringify(jsonOf(event, show)))}\n` : lineOf(event, show));
  } finally {
    interrupt.close();
    await failed.close();
  }
}

function jsonOf(event: TailEvent, show: boolean): unknown {
  switch (event.kind) {
    case 'submission': {
      const { submission } = event;
      return { kind: event.kind, ...submission, lead: show ? submission.lead : masked(submission) };
    }
    case 'rejected':
      return { kind: event.kind, ...event.rejected };
    case 'failed':
      return event;
  }
}

function lineOf(event: TailEvent, show: boolean): string {
  switch (event.kind) {
    case 'submission': {
      const { submission } = event;
      const { acceptedAt, submissionId, leadId, source, notes } = submission;
      const lead = show ? submission.lead : masked(submission);
      const values = Object.entries(lead).map(
        ([field, value]) => `${field}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
      );
      const noted = notes.map(({ code, field }) => `! ${code} ${field}`);
      const parts = [source, submissionId, `lead ${leadId}`, ...values, ...noted];
      return line(acceptedAt, parts);
    }
    case 'rejected': {
      const { at, rejectedId, code, errors } = event.rejected;
      const wrong = errors.map((error) => `${error.pointer} ${error.code}`.trim());
      return line(at, ['REFUSED', rejectedId, code, ...wrong]);
    }
    case 'failed':
      return line(event.failedAt, ['FAILED', event.jobId, event.reason]);
  }
}

function line(at: Date | string, parts: readonly string[]): string {
  return `${shortTime(at)}  ${parts.map(showable).join('  ')}\n`;
}

/** The lead with every value masked: which fields came, and what they look like. */
function masked({ lead }: SubmissionSummary): Record<string, unknown> {
  return Object.fromEntries(Object.entries(lead).map(([field, value]) => [field, mask(value)]));
}

function mask(value: unknown): unknown {
  if (typeof value === 'string') return maskText(value);
  if (Array.isArray(value)) return value.map(mask);
  if (typeof value !== 'object' || value === null) return '•';
  return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, mask(inner)]));
}
