import { drainLeftOvers, type LeftOver, type ShardStanding, shardStandings } from '@leadgate/queue';
import type { Command } from 'commander';
import { setTimeout as delay } from 'node:timers/promises';
import { addCommand, answer, type Context, type JsonOption, remark } from '../command.ts';
import { Failure, stopOnInterrupt } from '../io.ts';
import { count, shortTime, table } from '../print/table.ts';

export function addShardsCommands(shards: Command, context: Context): void {
  addCommand(shards, 'list', {
    summary: 'Show how each shard stands, and whether it is written to.',
    examples: ['shards list'],
  }).action((options: JsonOption) => list(context, options));

  addCommand(shards, 'drain', {
    summary: 'Wait until shards that nobody writes to any more are empty, and take them off.',
    details:
      'For after QUEUE_SHARDS was lowered and everything restarted. Workers go on taking their jobs; failed ones are moved, as they are, to the shard that their lead has now. Ctrl-C ends it and loses nothing: run it again.',
    examples: ['shards drain'],
  }).action((options: JsonOption) => drain(context, options));
}

async function list({ io, session }: Context, options: JsonOption): Promise<void> {
  const standings = await shardStandings(await session.redis());
  answer(io, options, standings, () =>
    table(
      ['shard', 'state', 'waiting', 'active', 'delayed', 'failed', 'oldest since'],
      standings.map((one) => [
        one.shard,
        stateOf(one),
        one.waiting,
        one.active,
        one.delayed,
        one.failed,
        one.oldestWaitingMs === null ? null : shortTime(new Date(Date.now() - one.oldestWaitingMs)),
      ]),
    ),
  );
}

function stateOf({ shard, inUse, paused }: ShardStanding): string {
  // The first one is there for good.
  const state = inUse ? 'written to' : shard === 0 ? 'not written to' : 'left over';
  return paused ? `${state}, paused` : state;
}

const LOOK_EVERY_MS = 1_000;
const TELL_EVERY_MS = 5_000;

async function drain({ io, session }: Context, options: JsonOption): Promise<void> {
  const redis = await session.redis();
  const { waitReplicas } = await session.redisSettings();
  const interrupt = stopOnInterrupt();
  const done = { gone: [] as number[], movedFailed: 0 };
  let toldAt = -Infinity;
  try {
    for (;;) {
      const round = await drainLeftOvers(redis, { waitReplicas });
      if (round.kind === 'nobody-writes')
        throw new Failure(
          'No receiver has been heard of for a minute, so which shards are left over is not known: start the receivers, then run it again.',
        );
      for (const { shard, gone, moved } of round.leftOvers) {
        done.movedFailed += moved;
        if (gone) done.gone.push(shard);
      }
      const left = round.leftOvers.filter(({ gone }) => !gone);
      if (left.length === 0) break;
      if (performance.now() - toldAt >= TELL_EVERY_MS) {
        remark(io, `still there: ${left.map(progressOf).join('; ')}.`);
        toldAt = performance.now();
      }
      await delay(LOOK_EVERY_MS, undefined, { signal: interrupt.signal }).catch(() => undefined);
      if (interrupt.signal.aborted || io.signal?.aborted === true)
        throw new Failure(
          `Stopped: ${left.map(({ shard }) => `shard ${shard}`).join(', ')} still there; nothing is lost. Run it again.`,
        );
    }
  } finally {
    interrupt.close();
  }
  const failed =
    done.movedFailed === 0 ? '' : ` ${count(done.movedFailed, 'failed job')} moved to others.`;
  answer(io, options, done, () =>
    done.gone.length === 0
      ? `No shard is left over.\n`
      : `${count(done.gone.length, 'shard')} taken off: ${done.gone.join(', ')}.${failed}\n`,
  );
}

function progressOf({ shard, waiting, active, delayed, paused }: LeftOver): string {
  const how = `${waiting} waiting, ${active} being applied, ${delayed} to be tried again`;
  return `shard ${shard}: ${how}${paused ? '; the queue is paused: leadgate queue resume' : ''}`;
}
