import { cp, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { readJob, unpackJob, type Submission } from '@leadgate/contract';
import type { Redis } from 'ioredis';
import { startOwnRedis, type OwnServer } from '../../scripts/servers/own-server.js';
import { withRedis } from '../../scripts/servers/session.js';
import type { ThrownAway } from './audit.ts';
import { markIn } from './people.ts';

/** Where Redis keeps what it appends, below its folder. */
export const FILES = 'appendonlydir';

/** The nodes that hold the same data, the one that takes writes first. */
export type Shard = readonly [OwnServer, ...OwnServer[]];

/** Backups of Redis, and the way back to one, as an operator goes it. */
export function createOlderRedis(
  folder: string,
  shards: () => Promise<readonly Shard[]>,
  startAgain: (server: OwnServer) => Promise<void>,
) {
  let backups = 0;
  const thrown: string[] = [];
  const placeOf = (backup: number, shard: number) => join(folder, `backup-${backup}-${shard}`);
  return {
    /** Keeps a copy of what each shard has now. */
    backUp: async (): Promise<void> => {
      for (const [n, [master]] of (await shards()).entries())
        await cp(join(await folderOf(master), FILES), placeOf(backups, n), { recursive: true });
      backups += 1;
    },
    /** Stops a shard, puts one of its backups in the place of its files, and starts it again after a time. */
    restore: async (nth: number, forMs: number): Promise<void> => {
      const all = await shards();
      const n = nth % all.length;
      const shard = all[n];
      if (shard === undefined || backups === 0) return;
      const folders = await Promise.all(shard.map(folderOf));
      // All at once, or a replica takes over what it has.
      await Promise.all(shard.map((node) => node.kill('SIGTERM')));
      const lost = join(folder, `thrown-${thrown.length}`);
      await mkdir(lost);
      await cp(join(folders[0] ?? '', FILES), join(lost, FILES), { recursive: true });
      thrown.push(lost);
      const chosen = join(folder, `restored-${thrown.length}`);
      await mkdir(chosen);
      await cp(placeOf(nth % backups, n), join(chosen, FILES), { recursive: true });
      // Every other one is hours old by its orders, which is what tells a Redis that it is.
      if (nth % 2 === 0) await withOwnRedis(chosen, (redis) => turnClocks(redis, -HOURS_OLD));
      for (const place of folders) {
        await rm(join(place, FILES), { recursive: true });
        await cp(join(chosen, FILES), join(place, FILES), { recursive: true });
      }
      await delay(forMs);
      await Promise.all(shard.map(startAgain));
    },
    /** Submissions that waited in what was thrown away: theirs is the loss that a restore is. */
    thrownAway: async (): Promise<ThrownAway> => {
      const waiting: Submission[] = [];
      for (const place of thrown) waiting.push(...(await waitingIn(place)));
      return {
        restores: thrown.length,
        submissions: new Set(waiting.map(({ id }) => id)),
        marks: new Set(waiting.map(markIn)),
      };
    },
  };
}

/** Where the files of a Redis are. */
export const folderOf = ({ url }: { url: string }): Promise<string> =>
  withRedis(url, async (admin) => (await admin.config('GET', 'dir'))[1] ?? '');

const HOURS_OLD = 6;

/** Turns the clock of each workspace's orders by hours. */
export async function turnClocks(redis: Redis, hours: number): Promise<void> {
  for (const key of await redis.keys('leadgate:{*}:state'))
    await redis.hincrby(key, 'clock', hours * 3_600_000_000);
}

/** The submissions of all jobs in the files of a Redis, read by one that is started for it. */
async function waitingIn(place: string): Promise<Submission[]> {
  const submissions: Submission[] = [];
  await withOwnRedis(place, async (redis) => {
    for (const key of await redis.keys('leadgate:{leads-*')) {
      if ((await redis.type(key)) !== 'hash') continue;
      const data = await redis.hget(key, 'data');
      const reading = data === null ? null : readJob(JSON.parse(data));
      if (reading?.kind !== 'readable') continue;
      for (const member of await unpackJob(reading.payload))
        if (member.kind === 'read') submissions.push(member.submission);
    }
  });
  return submissions;
}

async function withOwnRedis(place: string, use: (redis: Redis) => Promise<void>): Promise<void> {
  const server = await startOwnRedis({ dir: place });
  await withRedis(server.url, use).finally(server.stop);
}
