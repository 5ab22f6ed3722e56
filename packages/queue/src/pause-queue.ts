import type { Redis } from 'ioredis';
import { withQueue } from './with-queue.ts';

/**
 * Pauses the queue for every worker: leads are taken and wait. Jobs that run are finished. Pausing
 * again changes nothing.
 */
export function pauseQueue(redis: Redis): Promise<void> {
  return withQueue(redis, (queue) => queue.pause());
}

/** Lets workers take jobs again. */
export function resumeQueue(redis: Redis): Promise<void> {
  return withQueue(redis, (queue) => queue.resume());
}
