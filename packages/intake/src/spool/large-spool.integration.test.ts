import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { sampleSubmission } from '@leadgate/testkit';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type DrainIntake, drainFolder, startDrain } from './drain.ts';
import { spoolFolders } from './folder.ts';
import * as records from './segment.ts';
import { openSpool } from './spool.ts';

let directory: string;
beforeEach(() => void (directory = mkdtempSync(join(tmpdir(), 'leadgate-spool-'))));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** More than it had before, with what is not collected yet: the records are of 15 MiB. */
const MOST_MEMORY_MIB = 150;

/** A receiver's spool, closed, with `count` records of these workspaces by turns. */
async function leftBehind(
  count: number,
  { workspaceIds, body = '{}' }: { workspaceIds: string[]; body?: string },
): Promise<string> {
  const spool = await openSpool(directory, { maxBytes: 2 ** 40, logger });
  for (let n = 0; n < count; n += 2_000)
    await Promise.all(
      Array.from({ length: Math.min(2_000, count - n) }, (_, i) => {
        const workspaceId = workspaceIds[(n + i) % workspaceIds.length] ?? '';
        const submission = sampleSubmission(n + i, { workspaceId, body });
        return spool.append({ submission, reserved: false });
      }),
    );
  await spool.close();
  const [folder = ''] = spoolFolders(directory);
  return folder;
}

/** Takes all leads but those of workspaces that are behind. */
function intake(isBehind: (workspaceId: string) => boolean) {
  const taken: string[] = [];
  const tries = new Map<string, number>();
  let order = 1;
  const target: DrainIntake = {
    reserver: {
      isRemoved: () => Promise.resolve(false),
      reserve: ({ workspaceId, offeredLeadId, identityKeys }) => {
        tries.set(workspaceId, (tries.get(workspaceId) ?? 0) + 1);
        if (isBehind(workspaceId)) return Promise.resolve({ kind: 'behind' });
        const identities = identityKeys.map((key) => ({ key, owner: offeredLeadId }));
        const reserved = { leadId: offeredLeadId, identities, order: order++ };
        return Promise.resolve({ kind: 'reserved', ...reserved });
      },
    },
    producer: { enqueue: ({ id }) => Promise.resolve(void taken.push(id)) },
  };
  return { ...target, taken, tries };
}

test('a workspace that is behind holds up nobody: its records are read once, and again when it is back', async () => {
  const [behind, well] = [randomUUID(), randomUUID()];
  const count = 10_000;
  // One lead in a hundred is of the other workspace.
  const workspaceIds = [...Array.from({ length: 99 }, () => behind), well];
  await leftBehind(count, { workspaceIds });
  const decode = vi.spyOn(records, 'decodePayload');
  const memory = process.memoryUsage().rss;
  const spool = await openSpool(directory, { maxBytes: 2 ** 40, logger });
  let isRefilled = false;
  const target = intake((workspaceId) => workspaceId === behind && !isRefilled);
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const draining = startDrain(spool, target, { rate: 100_000, mayDrain: () => true, logger });
  await vi.waitFor(() => expect(target.taken).toHaveLength(count / 100), { timeout: 30_000 });
  await vi.waitFor(() => expect(spool.status().waiting).toBe((99 * count) / 100));
  // It is asked for again and again, a record each time.
  const tried = target.tries.get(behind) ?? 0;
  const decoded = decode.mock.calls.length;
  expect(decoded).toBeGreaterThanOrEqual(count);
  await vi.waitFor(() => expect(target.tries.get(behind)).toBe(tried + 3), { timeout: 20_000 });
  expect(tried).toBeLessThan(200);
  expect(decode.mock.calls.length - decoded).toBeLessThanOrEqual(4);
  delay.disable();
  expect(delay.percentile(99) / 1e6).toBeLessThan(100);
  expect((process.memoryUsage().rss - memory) / 2 ** 20).toBeLessThan(MOST_MEMORY_MIB);
  // What comes meanwhile is drained at once.
  const late = sampleSubmission(count, { workspaceId: well });
  await spool.append({ submission: late, reserved: false });
  await vi.waitFor(() => expect(target.taken.at(-1)).toBe(late.id));
  isRefilled = true;
  await vi.waitFor(() => expect(spool.status().waiting).toBe(0), { timeout: 60_000 });
  await draining.stop();
  const rest = target.taken.slice(count / 100 + 1);
  expect(rest).toEqual(rest.toSorted());
  expect(new Set(target.taken).size).toBe(count + 1);
  await spool.close();
}, 120_000);

test('drained leads leave the disk although leads between them wait, and these stay in order', async () => {
  const [behind, well] = [randomUUID(), randomUUID()];
  const workspaceIds = [...Array.from({ length: 19 }, () => well), behind];
  const folder = await leftBehind(20_000, { workspaceIds });
  const spool = await openSpool(directory, { maxBytes: 2 ** 40, logger });
  const before = bytesIn(folder);
  let isRefilled = false;
  const target = intake((workspaceId) => workspaceId === behind && !isRefilled);
  const pass = async () => {
    for (const each of spool.folders()) await drainFolder(each, target, { rate: 1_000_000 });
  };
  for (let i = 0; i < 10; i++) await pass();
  expect(spool.status().waiting).toBe(1_000);
  expect(bytesIn(folder)).toBeLessThan(before / 15);
  await spool.close();
  // The next process reads what is left, and no more.
  const next = await openSpool(directory, { maxBytes: 2 ** 40, logger });
  expect(next.status().waiting).toBe(1_000);
  isRefilled = true;
  for (const each of next.folders()) await drainFolder(each, target, { rate: 1_000_000 });
  const rest = target.taken.slice(19_000);
  expect(rest).toEqual(rest.toSorted());
  expect(new Set(target.taken).size).toBe(20_000);
  await next.close();
}, 60_000);

function bytesIn(folder: string): number {
  return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}
