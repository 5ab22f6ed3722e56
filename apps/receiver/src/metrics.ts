import { createMetrics, type MetricsRegistry } from '@leadgate/boot';
import { PROBLEMS, type ProblemCode } from '@leadgate/contract';
import type { Answer } from './answer.ts';

export interface ReceiverMetrics {
  registry: MetricsRegistry;
  /** Counts a post by its answer. Milliseconds. */
  answered(answer: Answer, ms: number): void;
}

const ANSWERS: Answer[] = ['accepted', ...(Object.keys(PROBLEMS) as ProblemCode[])];

/** What monitoring sees of a receiver: its answers and how long they took. */
export function createReceiverMetrics(sources: {
  redisIsReady: () => boolean;
  directoryIsComplete: () => boolean;
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
  registry.gauge({
    name: 'leadgate_redis_up',
    help: 'Whether Redis answers.',
    read: () => Number(sources.redisIsReady()),
  });
  registry.gauge({
    name: 'leadgate_link_directory_complete',
    help: 'Whether every capture link is known; while not, unknown codes are answered 503.',
    read: () => Number(sources.directoryIsComplete()),
  });
  return {
    registry,
    answered(answer, ms) {
      count(answer);
      if (answer === 'accepted') observe(ms / 1_000);
    },
  };
}
