import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { openSpool } from '@leadgate/intake';
import { SILENT } from '../feed.js';
import { spread, told } from '../figures.js';
import { here } from '../processes.js';
import { submissionOf } from '../seed.js';
import { byTurns } from './bench.js';

/** @typedef {import('./bench.js').Bench} Bench */

/**
 * How fast a receiver makes leads durable on its own disk: groups a second, when each waits for the one
 * before it, and leads a second, when as many posts as a load has connections wait for theirs. The disk
 * is that of this folder.
 * @param {Bench} bench
 */
export async function measure({ plan, say }) {
  const seconds = plan.seconds / 2;
  const { groups, leads } = await byTurns(plan.rounds, {
    groups: () => appendsPerSecond({ posts: 1, seconds }),
    leads: () => appendsPerSecond({ posts: plan.connections, seconds }),
  });
  const figures = { groupsPerSecond: spread(groups), leadsPerSecond: spread(leads) };
  say(`  one post at a time: ${told(figures.groupsPerSecond)} groups a second`);
  say(`  ${plan.connections.toString()} at once: ${told(figures.leadsPerSecond)} leads a second`);
  return figures;
}

/** @param {{ posts: number, seconds: number }} load */
async function appendsPerSecond({ posts, seconds }) {
  const directory = await mkdtemp(join(here('results'), 'spool-'));
  try {
    const spool = await openSpool(directory, { maxBytes: 2 ** 40, logger: SILENT });
    const start = performance.now();
    const end = start + 1_000 * seconds;
    let kept = 0;
    await Promise.all(
      Array.from({ length: posts }, async (_, n) => {
        while (performance.now() < end) {
          const submission = {
            ...SUBMISSION,
            ...{ id: uuidv7(), leadId: randomUUID(), order: n, stamp: n },
          };
          if ((await spool.append({ submission, reserved: false })) !== 'kept')
            throw new Error('a spool without a bound is full');
          kept += 1;
        }
      }),
    );
    const passed = performance.now() - start;
    await spool.close();
    return (1_000 * kept) / passed;
  } finally {
    await rm(directory, { recursive: true });
  }
}

const SUBMISSION = submissionOf(1, { workspaceId: randomUUID(), linkId: randomUUID() });
