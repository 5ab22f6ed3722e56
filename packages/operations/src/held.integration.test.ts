import type { Submission } from '@leadgate/contract';
import {
  decideHeld,
  heldCauses,
  listHeld,
  saveHeld,
  searchHeld,
  showHeld,
  showLead,
} from '@leadgate/store';
import { sampleSubmission } from '@leadgate/testkit';
import { expect, test } from 'vitest';
import { randomUUID } from 'node:crypto';
import { releaseHeld } from './held.ts';
import { operationsUnderTest } from '../test/operations.ts';

const operations = await operationsUnderTest();
const where = await operations.open();

let number = 0;
function caught(email: string): Submission {
  number += 1;
  const stamp = Date.now() * 1_000 - 60_000_000;
  return {
    ...sampleSubmission(number),
    ...where,
    leadId: randomUUID(),
    order: stamp,
    stamp,
    identities: [],
    lead: { email, name: 'Held' },
    held: { reason: 'honeypot', keys: [`email:${email}`] },
  };
}

test('what is held is kept once and is no lead', async () => {
  const held = caught('once@example.com');
  await saveHeld(operations.store, [held, held].slice(0, 1));
  await saveHeld(operations.store, [held]);
  const listed = await listHeld(operations.store, { linkId: where.linkId }, 10);
  expect(listed.filter(({ heldId }) => heldId === held.id)).toMatchObject([
    { reason: 'honeypot', answeredLeadId: held.leadId, lead: { email: 'once@example.com' } },
  ]);
  expect(await showLead(operations.store, held.leadId, { historyLimit: 1 })).toBeNull();
});

test('released, the person is a lead under the id that was answered, from when it was posted', async () => {
  const held = caught('new@example.com');
  await saveHeld(operations.store, [held]);
  expect(await releaseHeld(operations, held.id)).toEqual({
    kind: 'released',
    submissionId: held.id,
    leadId: held.leadId,
    answeredLeadId: held.leadId,
  });
  expect(operations.queue[0]).toMatchObject({ id: held.id, stamp: held.stamp });
  expect(operations.queue[0]?.order).toBeGreaterThan(held.stamp);
  expect(operations.queue[0]).not.toHaveProperty('held');
  await operations.work();
  const lead = await showLead(operations.store, held.leadId, { historyLimit: 1 });
  expect(lead).toMatchObject({ leadId: held.leadId, email: 'new@example.com' });
  expect((await showHeld(operations.store, held.id))?.state).toBe('released');
});

test('released, the answered id stands for a lead that was known, and newer facts stay', async () => {
  const [older, newer] = [caught('known@example.com'), caught('known@example.com')];
  await saveHeld(operations.store, [older, newer]);
  await releaseHeld(operations, newer.id);
  await operations.work();
  const released = await releaseHeld(operations, older.id);
  expect(released).toMatchObject({ leadId: newer.leadId, answeredLeadId: older.leadId });
  await operations.work();
  const lead = await showLead(operations.store, older.leadId, { historyLimit: 10 });
  expect(lead).toMatchObject({ leadId: newer.leadId, aliases: [older.leadId], submissions: 2 });
});

test('released twice, and after a crash before it was marked, it is one submission', async () => {
  const held = caught('twice@example.com');
  await saveHeld(operations.store, [held]);
  const crashing = {
    ...operations,
    producer: {
      enqueue: async (submission: Submission) => {
        await operations.producer.enqueue(submission);
        throw new Error('killed');
      },
    },
  };
  await expect(releaseHeld(crashing, held.id)).rejects.toThrow('killed');
  expect(await releaseHeld(operations, held.id)).toMatchObject({ kind: 'released' });
  await operations.work();
  expect(await releaseHeld(operations, held.id)).toMatchObject({ kind: 'already-released' });
  expect(operations.queue).toEqual([]);
  const lead = await showLead(operations.store, held.leadId, { historyLimit: 10 });
  expect(lead?.submissions).toBe(1);
});

test('what was applied under its id is not held again', async () => {
  const held = caught('applied@example.com');
  await saveHeld(operations.store, [held]);
  await releaseHeld(operations, held.id);
  await operations.work();
  await operations.store.prisma.heldSubmission.delete({ where: { id: held.id } });
  await saveHeld(operations.store, [held]);
  expect(await showHeld(operations.store, held.id)).toBeNull();
});

test('what was discarded is kept, and can still be released; what was released stays so', async () => {
  const held = caught('discarded@example.com');
  await saveHeld(operations.store, [held]);
  expect(await decideHeld(operations.store, held.id, 'discarded')).toBe('discarded');
  const waiting = await listHeld(operations.store, {}, 100);
  expect(waiting.some(({ heldId }) => heldId === held.id)).toBe(false);
  expect(await releaseHeld(operations, held.id)).toMatchObject({ kind: 'released' });
  expect(await decideHeld(operations.store, held.id, 'discarded')).toBe('released');
  await operations.work();
  expect(await releaseHeld(operations, randomUUID())).toEqual({ kind: 'unknown' });
});

test('what was left out is held again, counted among its cause, and found by what it says', async () => {
  const link = await operations.open();
  const held = { ...caught('again@example.com'), ...link };
  await saveHeld(operations.store, [held]);
  const causes = () => heldCauses(operations.store, link.workspaceId);
  expect(await causes()).toMatchObject([{ linkId: link.linkId, reason: 'honeypot', total: 1 }]);
  expect(await decideHeld(operations.store, held.id, 'discarded')).toBe('discarded');
  expect(await causes()).toEqual([]);
  expect(await decideHeld(operations.store, held.id, 'held')).toBe('held');
  expect(await causes()).toHaveLength(1);
  expect(await showHeld(operations.store, held.id)).toMatchObject({ decidedAt: null });
  const text = { workspaceId: link.workspaceId, text: 'AGAIN@' };
  expect(await searchHeld(operations.store, text, 5)).toMatchObject([{ heldId: held.id }]);
  await releaseHeld(operations, held.id);
  expect(await decideHeld(operations.store, held.id, 'held')).toBe('released');
});
