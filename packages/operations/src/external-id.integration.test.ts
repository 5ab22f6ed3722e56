import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { refillWorkspace } from '@leadgate/intake';
import { readLead } from '@leadgate/leads';
import { linkEntries, listSubmissions, refillSource, showLead } from '@leadgate/store';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { acceptBody } from './accept.ts';
import { importRows } from './import/import-rows.ts';
import { operationsUnderTest } from '../test/operations.ts';

const system = await operationsUnderTest();

async function newLink() {
  const { linkId } = await system.open();
  const [entry] = await linkEntries(system.store, linkId);
  if (entry === undefined) throw new Error('no link');
  return entry.link;
}
type Link = Awaited<ReturnType<typeof newLink>>;

/** The lead id that is answered. */
async function post(link: Link, body: object): Promise<string> {
  const reading = readLead(body, link, { lenient: false, now: Date.now() });
  if (reading.kind !== 'read') throw new Error(reading.kind);
  const outcome = await acceptBody(system, {
    ...{ submissionId: newId(), link, reading, stamp: null, source: 'post', background: false },
    ...{ body: JSON.stringify(body), bodyType: 'json' },
  });
  if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
  return outcome.leadId;
}

const newId = () => `0193${randomUUID().slice(4, 14)}7${randomUUID().slice(15)}`;

function bring(link: Link, rows: { externalId: string; email: string }[]) {
  const lines = rows.map(({ externalId, email }) => `${externalId},${email}\n`);
  const source = Readable.from([Buffer.from(`externalId,email\n${lines.join('')}`)]);
  return importRows(system, source, { link, fields: [], timeZone: 'UTC' });
}

const submissionsOf = ({ linkId }: Link) => listSubmissions(system.store, { linkId }, 2_000);

/** As after a restore of an empty Redis: only what Postgres has is known again. */
async function loseRedis({ workspaceId }: Link): Promise<void> {
  const keys = await system.redis.keys(`leadgate:{${workspaceId}}:*`);
  if (keys.length > 0) await system.redis.del(keys);
  await refillWorkspace(system.redis, refillSource(system.store), workspaceId);
}

test('a thousand posts of one external id are one submission, whatever else they say', async () => {
  const link = await newLink();
  const answers = await Promise.all(
    Array.from({ length: 1_000 }, (_, i) =>
      post(link, { externalId: 'lead-1', email: `p${i % 7}@example.com`, name: `N${i}` }),
    ),
  );
  expect(new Set(answers).size).toBe(1);
  await system.work();
  expect(await submissionsOf(link)).toHaveLength(1);
  // Who was only named by a repeat is nobody yet.
  const others = await Promise.all(
    Array.from({ length: 7 }, (_, i) => post(link, { email: `p${i}@example.com` })),
  );
  expect(others.filter((leadId) => leadId === answers[0])).toHaveLength(1);
});

const sent = fc.record({ id: fc.constantFrom('1', '2', '3'), email: fc.nat({ max: 3 }) });
const step = fc.oneof(
  fc.record({ kind: fc.constant('post' as const), sent: fc.array(sent, { maxLength: 5 }) }),
  fc.record({ kind: fc.constant('import' as const), sent: fc.array(sent, { maxLength: 5 }) }),
  fc.record({ kind: fc.constantFrom('work' as const, 'lose' as const), sent: fc.constant([]) }),
);

test('posted, imported, together or after Redis was lost, it is one submission for ever', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 8 }), async (steps) => {
      const link = await newLink();
      const answers = new Map<string, string[]>();
      for (const { kind, sent } of steps) {
        const rows = sent.map(({ id, email }) => ({ externalId: id, email: `e${email}@x.io` }));
        if (kind === 'post')
          await Promise.all(
            rows.map(async (row) => {
              const leadId = await post(link, row);
              answers.set(row.externalId, [...(answers.get(row.externalId) ?? []), leadId]);
            }),
          );
        else if (kind === 'import') await bring(link, rows);
        else await system.work();
        if (kind === 'lose') await loseRedis(link);
      }
      await system.work();
      const ids = new Set(steps.flatMap((one) => one.sent.map(({ id }) => id)));
      expect(await submissionsOf(link)).toHaveLength(ids.size);
      for (const leadIds of answers.values()) {
        const leads = await Promise.all(
          leadIds.map(
            async (id) => (await showLead(system.store, id, { historyLimit: 1 }))?.leadId,
          ),
        );
        expect(new Set(leads).size).toBe(1);
        expect(leads[0]).toBeDefined();
      }
    }),
    { numRuns: 12 },
  );
});
