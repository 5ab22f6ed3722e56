import { createMetrics, type MetricsRegistry, type RedisConnection } from '@leadgate/boot';
import { NOTE_CODES, type NoteCode } from '@leadgate/contract';
import { queueGauges } from '@leadgate/queue';
import type { GroupResult } from '@leadgate/store';
import type { GroupItem } from './group-commit.ts';

interface WorkerMetrics {
  registry: MetricsRegistry;
  /** Applies a group and counts what came of it. */
  observe(
    applyGroup: (items: GroupItem[]) => Promise<GroupResult>,
  ): (items: GroupItem[]) => Promise<GroupResult>;
}

const OUTCOMES = ['created', 'updated', 'already-applied', 'erased', 'removed'] as const;
const NOTES = Object.keys(NOTE_CODES) as NoteCode[];

/** What monitoring sees of a worker, and of the queue that it takes from. */
export function createWorkerMetrics(sources: {
  redis: RedisConnection;
  redisIsReady: () => boolean;
  postgresIsAway: () => boolean;
  jobsLeft: () => number;
}): WorkerMetrics {
  const registry = createMetrics('worker');
  const { leads, oldest } = queueGauges(sources.redis);
  registry.gauges(leads);
  registry.gauge(oldest);
  registry.up('Redis', () => sources.redisIsReady());
  registry.up('Postgres', () => !sources.postgresIsAway());
  registry.gauge({
    name: 'leadgate_jobs_left_to_newer',
    help: 'How often since its start the worker has left a job of a newer version to a newer worker.',
    read: sources.jobsLeft,
  });
  const countApplied = registry.counters({
    name: 'leadgate_applied_total',
    help: 'Submissions applied to leads by what came of it.',
    label: 'outcome',
    values: OUTCOMES,
  });
  const countFailed = registry.counter({
    name: 'leadgate_groups_failed_total',
    help: 'Transactions that failed, for whatever reason; they are tried again.',
  });
  const countNote = registry.counters({
    name: 'leadgate_notes_total',
    help: 'What was done to values of applied submissions, by code.',
    label: 'code',
    values: NOTES,
  });
  const observeSize = registry.histogram({
    name: 'leadgate_group_size',
    help: 'Submissions applied in one transaction.',
    buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000],
  });
  const observeDuration = registry.histogram({
    name: 'leadgate_apply_duration_seconds',
    help: 'How long the transaction of a group took.',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
  });
  return {
    registry,
    observe: (applyGroup) => async (items) => {
      const start = performance.now();
      const result = await applyGroup(items).catch((error: unknown) => {
        countFailed();
        throw error;
      });
      observeDuration((performance.now() - start) / 1_000);
      observeSize(items.length);
      for (const { outcome, notes } of result.applied) {
        countApplied(outcome);
        for (const code of notes) countNote(code);
      }
      return result;
    },
  };
}
