import { createMetrics, type MetricsRegistry } from '@leadgate/boot';
import { type ProblemCode, PROBLEMS } from '@leadgate/contract';
import type { SpoolStatus } from '@leadgate/intake';
import type { IntakeFailure } from './accept-lead.ts';
import type { Answer } from './answer.ts';

export interface ReceiverMetrics {
  registry: MetricsRegistry;
  /** Counts a post by its answer. Milliseconds. */
  answered(answer: Answer, ms: number): void;
  failed(failure: IntakeFailure): void;
}

const ANSWERS: Answer[] = ['accepted', ...(Object.keys(PROBLEMS) as ProblemCode[])];

const FAILURES = [
  'link-not-looked-up',
  'not-enqueued',
  'not-spooled',
  'rejected-not-kept',
  'secret-not-read',
] as const satisfies readonly IntakeFailure[];

/** What monitoring sees of a receiver: its answers, how long they took, and what went wrong. */
export function createReceiverMetrics(sources: {
  redisIsReady: () => boolean;
  directoryIsComplete: () => boolean;
  /** Null if there is no spool. */
  spoolStatus: () => Pick<SpoolStatus, 'waiting' | 'bytes' | 'damaged'> | null;
}): ReceiverMetrics {
  const registry = createMetrics('receiver');
  const count = registry.counters({
    name: 'leadgate_posts_total',
    help: 'Posts by what they were answered: accepted, or the code of the problem.',
    label: 'answer',
    values: ANSWERS,
  });
  const observe = registry.histogram({
    name: 'leadgate_post_duration_seconds',
    help: 'How long an accepted post took, from its head to its answer.',
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.7, 1, 2.5],
  });
  registry.up('Redis', () => sources.redisIsReady());
  registry.gauge({
    name: 'leadgate_link_directory_complete',
    help: 'Whether every capture link is known; while not, unknown codes are answered 503.',
    read: () => Number(sources.directoryIsComplete()),
  });
  const countSpooled = registry.counter({
    name: 'leadgate_spooled_total',
    help: 'Leads that Redis did not take and the spool did; they are among the accepted.',
  });
  const countFailure = registry.counters<Exclude<IntakeFailure, 'spooled'>>({
    name: 'leadgate_failures_total',
    help: 'What went wrong between a post and its being durable.',
    label: 'failure',
    values: FAILURES,
  });
  registry.gauge({
    name: 'leadgate_spool_waiting',
    help: 'Leads in the spool that wait for Redis.',
    read: () => sources.spoolStatus()?.waiting ?? 0,
  });
  registry.gauge({
    name: 'leadgate_spool_bytes',
    help: 'Bytes of the spool on disk.',
    read: () => sources.spoolStatus()?.bytes ?? 0,
  });
  registry.gauge({
    name: 'leadgate_spool_damaged',
    help: 'Records of the spool that were set aside for a person to look at.',
    read: () => sources.spoolStatus()?.damaged ?? 0,
  });
  return {
    registry,
    answered(answer, ms) {
      count(answer);
      if (answer === 'accepted') observe(ms / 1_000);
    },
    failed(failure) {
      if (failure === 'spooled') countSpooled();
      else countFailure(failure);
    },
  };
}
