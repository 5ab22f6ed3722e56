import {
  createField,
  exportLeads,
  type LeadSummary,
  linkEntries,
  listFields,
} from '@leadgate/store';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Readable } from 'node:stream';
import { importRows } from './import/import-rows.ts';
import { leadsAsCsv, leadsAsNdjson } from './lead-csv.ts';
import { operationsUnderTest } from '../test/operations.ts';

const system = await operationsUnderTest();

const OPTIONS = ['a; b', '[x]', '-promo-', 'c, d', '=1', 'plain'];
const FIELDS = [
  { name: 'handle', type: 'text', options: [] },
  { name: 'score', type: 'number', options: [] },
  { name: 'agreed', type: 'boolean', options: [] },
  { name: 'tags', type: 'multi-select', options: OPTIONS },
] as const;

async function open() {
  const link = await system.open();
  for (const { name, type, options } of FIELDS)
    await createField(system.store, link.workspaceId, {
      name,
      label: name,
      type,
      options: [...options],
    });
  return link;
}
type Link = Awaited<ReturnType<typeof open>>;

async function bring({ linkId, workspaceId }: Link, text: string) {
  const [entry] = await linkEntries(system.store, linkId);
  if (entry === undefined) throw new Error('no link');
  const fields = await listFields(system.store, workspaceId);
  const source = Readable.from([Buffer.from(text)]);
  const result = await importRows(system, source, { link: entry.link, fields, timeZone: 'UTC' });
  await system.work();
  return result;
}

const pages = ({ workspaceId }: Link) => exportLeads(system.store, { workspaceId });

async function leadsOf(link: Link): Promise<Omit<LeadSummary, 'updatedAt'>[]> {
  const all: LeadSummary[] = [];
  for await (const page of pages(link)) all.push(...page);
  return all
    .map(({ updatedAt: _, ...lead }) => lead)
    .toSorted((a, b) => (a.leadId < b.leadId ? -1 : 1));
}

/** What is the same in every workspace; of a telephone, its country and number. */
const contentOf = (leads: Awaited<ReturnType<typeof leadsOf>>) =>
  leads
    .map(({ leadId: _, workspaceId: __, workspace: ___, createdAt: ____, telephone, ...lead }) => ({
      ...lead,
      telephone: lead.telephoneE164 === undefined ? telephone : undefined,
    }))
    .toSorted((a, b) => ((a.email ?? '') < (b.email ?? '') ? -1 : 1));

const text = fc.constantFrom(
  ...['Ana', '@bia', '+Vendas', '-promo-', "'=x", 'x\n=1+1', 'a;=b,"c"', '="1"', 'Zé | "Zé"'],
);
/** A number is one person's. */
const PHONES = [
  '+34 912 345 678',
  '+1 212 555 0123',
  '031 8888-0006',
  '+55 11 98765-4321',
  '12345678',
];
const lead = fc.record(
  {
    name: text,
    city: text,
    utmSource: text,
    attribution: fc.record(
      { gclid: text, landingPage: text, clickedAt: fc.constant('2026-11-20T14:00:00.000Z') },
      { requiredKeys: ['gclid'] },
    ),
    handle: text,
    score: fc.constantFrom(-5, 1.234, 1e21, 0, 12_500),
    agreed: fc.boolean(),
    tags: fc.uniqueArray(fc.constantFrom(...OPTIONS), { minLength: 1 }),
  },
  { requiredKeys: [] },
);

test('an export imported again changes nothing, and elsewhere gives the same leads', async () => {
  const first = await open();
  const bodies = fc.sample(lead, 40).map(({ handle, score, agreed, tags, ...own }, n) => ({
    ...own,
    email: `${n % 2 === 0 ? '-' : ''}n${n}@x.example`,
    ...(n < PHONES.length && { telephone: PHONES[n] }),
    customFields: { handle, score, agreed, tags },
  }));
  bodies[0] = {
    ...bodies[0],
    email: '-es@x.example',
    telephone: '+34 912 345 678',
    customFields: { handle: undefined, score: -5, agreed: true, tags: ['a; b'] },
  };
  await bring(first, bodies.map((body) => JSON.stringify(body)).join('\n'));
  // Whose number the Spanish one would be without its country.
  await bring(first, '{"email":"minas@x.example","telephone":"34912345678"}');
  const before = await leadsOf(first);
  expect(before.find(({ email }) => email === '-es@x.example')).toMatchObject({
    telephone: '34912345678',
    telephoneE164: '+34912345678',
  });

  for (const write of [
    async () => leadsAsCsv(pages(first), await listFields(system.store, first.workspaceId)),
    () => Promise.resolve(leadsAsNdjson(pages(first))),
  ]) {
    let file = '';
    for await (const piece of await write()) file += piece;
    expect(await bring(first, file)).toMatchObject({ refused: 0 });
    const after = await leadsOf(first);
    expect(contentOf(after)).toEqual(contentOf(before));
    expect(after.map(({ leadId }) => leadId)).toEqual(before.map(({ leadId }) => leadId));
    const second = await open();
    expect(await bring(second, file)).toMatchObject({ imported: before.length, refused: 0 });
    expect(contentOf(await leadsOf(second))).toEqual(contentOf(before));
  }
});
