/** Every key of BullMQ starts with it. */
export const PREFIX = 'leadgate';

/** One queue a shard; braces, so that its keys share a slot of a Redis Cluster. */
export const queueName = (shard: number): string => `{leads-${shard}}`;

/** What a job asks for: to apply a submission, or to apply a stored one again. */
export type JobName = 'apply' | 'replay';
