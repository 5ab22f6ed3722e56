import { join } from 'node:path';
import { audit, type Audit } from './audit.ts';
import { type Books, closeBooks } from './books.ts';
import { inflict, type Span, type Stop } from './faults.ts';
import { startSystem, type SystemOptions } from './system.ts';
import { auditDeliveries, type DeliveryAudit } from './endpoints.ts';
import { openLedger, readLedger } from './ledger.ts';
import type { Crash } from './member.ts';
import { planFaults, type Fault } from './plan.ts';
import { createRandom } from './random.ts';
import { startReadingAgain } from './read-again.ts';
import { startTraffic, type Traffic } from './traffic.ts';

export interface ChaosOptions extends SystemOptions {
  lengthMs: number;
  seed: number;
  /** Posts a second. */
  rate: number;
  /** Milliseconds from one fault to the next, on average. */
  everyMs: number;
  /** Told of what happens, a line each. */
  say: (line: string) => void;
}

export interface ChaosReport {
  seed: number;
  lengthMs: number;
  faults: Fault[];
  stops: Stop[];
  spans: Span[];
  crashes: Crash[];
  traffic: Traffic;
  /** From the end of the last fault until nothing waited any more; null if that took too long. */
  drainMs: number | null;
  audit: Audit;
  books: Books;
  /** How often `leadgate submission read-again` ran to its end, and how often it was killed or failed. */
  readAgain: { done: number; ended: number };
  deliveries: DeliveryAudit;
  /** Where logs and ledger are, when they were kept. */
  folder: string | null;
}

/** Accepted, not now, none at all, and a receiver that was frozen in the middle of a body. */
const EXPECTED_ANSWERS = new Set(['202', '503', '0', '408']);

const SETTLE_WITHIN_MS = 180_000;

/** The real processes under faults from a seed, and what came of what they had accepted. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { seed, lengthMs, receivers, workers, cluster, rate, everyMs, say } = options;
  const system = await startSystem(options);
  say(
    `seed ${seed}; ${receivers} receivers, ${workers} workers${cluster ? ', a Redis Cluster' : ''}; logs and ledger in ${system.folder}`,
  );
  let clean = false;
  try {
    if (!(await system.settle(60_000))) throw new Error('the processes did not become ready');
    const path = join(system.folder, 'ledger.jsonl');
    const ledger = await openLedger(path);
    const posting = startTraffic(system, ledger, createRandom(seed + 1), rate);
    const faults = planFaults(createRandom(seed), { lengthMs, everyMs }).filter(
      ({ kind }) => cluster || kind !== 'fail over redis',
    );
    await system.older.backUp();
    const reading = startReadingAgain(system, createRandom(seed + 2), lengthMs / 2);
    const start = Date.now();
    const { stops, spans } = await inflict(faults, system, ({ kind, forMs }) => {
      const at = ((Date.now() - start) / 1_000).toFixed(1);
      say(`${at.padStart(7)} s  ${kind} for ${(forMs / 1_000).toFixed(1)} s`);
    });
    const healed = Date.now();
    say('no more faults; settling');
    const traffic = await posting.stop();
    for (const endpoint of system.endpoints) await endpoint.resume();
    const quiet = await system.settle(SETTLE_WITHIN_MS);
    const readAgain = await reading.finish();
    const settled = quiet && (await system.settle(SETTLE_WITHIN_MS));
    const drainMs = settled ? Date.now() - healed : null;
    await ledger.close();
    const accepted = await readLedger(path);
    const thrownAway = await system.older.thrownAway();
    const found = await audit(system.postgres.url, accepted, traffic.sent, thrownAway);
    if (readAgain.left > 0)
      found.violations.push(`posts of ${readAgain.left} links were not read again to the end`);
    const attemptsSpent = await system.attemptsSpent();
    if (attemptsSpent > 0)
      found.violations.push(`${attemptsSpent} attempts were spent: no fault here is a lead's own`);
    for (const [status, count] of Object.entries(traffic.answers))
      if (!EXPECTED_ANSWERS.has(status))
        found.violations.push(`${count} posts were answered with status ${status}`);
    const deliveries = await auditDeliveries(system.postgres.url, system.endpoints);
    found.violations.push(...deliveries.violations);
    const books = await closeBooks(system);
    if (books.difference !== 0)
      found.violations.push(`the ledger has a difference of ${books.difference}`);
    if (books.foundAfterMs === null)
      found.violations.push('the ledger did not miss a row that was deleted');
    clean = settled && found.violations.length === 0;
    return {
      ...{ seed, lengthMs, faults, stops, spans, crashes: system.crashes, traffic, drainMs },
      ...{ audit: found, books, readAgain, deliveries, folder: clean ? null : system.folder },
    };
  } finally {
    await system.close({ keep: !clean });
  }
}
