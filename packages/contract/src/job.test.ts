import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  HELD_REASONS,
  type HeldReason,
  type Submission,
  ADDRESS_FIELDS,
  type Lead,
  LEAD_FIELDS,
  NOTE_CODES,
  type NoteCode,
  UTM_FIELDS,
} from './submission.ts';
import {
  decodeSubmission,
  encodeSubmission,
  LARGEST_GROUP,
  memberLine,
  packJob,
  readJob,
  unpackJob,
  unpackJobSync,
  type JobPayload,
} from './job.ts';

const text = fc.oneof(fc.string({ unit: 'binary', minLength: 1 }), fc.constantFrom('x', 'y'));
const key = fc.oneof(
  text,
  fc.constantFrom('__proto__', 'constructor', 'hasOwnProperty', '', 'a\nb'),
);
const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
const optional = <T>(model: { [K in keyof T]: fc.Arbitrary<T[K]> }) =>
  fc.record(model, { requiredKeys: [] });
const texts = <F extends string>(fields: readonly F[]) =>
  optional(Object.fromEntries(fields.map((field) => [field, text])) as Record<F, typeof text>);

const lead = fc
  .tuple(
    texts([...LEAD_FIELDS, ...UTM_FIELDS]),
    optional({
      address: texts(ADDRESS_FIELDS),
      customFields: fc.dictionary(key, fc.oneof(text, number, fc.boolean(), fc.array(text))),
    }),
  )
  .map(([flat, deep]): Lead => ({ ...flat, ...deep }));

/** Bodies of every kind, many of them close to the lead, as they are in life. */
const bodyOf = (lead: Lead) =>
  fc.oneof(
    fc.constant(JSON.stringify(lead)),
    fc.dictionary(key, fc.jsonValue()).map((other) => JSON.stringify({ ...lead, ...other })),
    optional({
      email: fc.constantFrom(' Ana@Example.com ', null, ''),
      address: fc.jsonValue(),
      customFields: fc.oneof(fc.jsonValue(), fc.dictionary(key, fc.jsonValue())),
    }).map((other) => JSON.stringify({ ...lead, ...other })),
    fc.json(),
    fc.string({ unit: 'binary' }),
    fc.constantFrom('', '[]', 'null', '{"__proto__":{"email":"x"}}', '{"customFields":{"n":-0}}'),
  );

const order = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER });
const note = fc
  .record({
    field: text,
    code: fc.constantFrom(...(Object.keys(NOTE_CODES) as NoteCode[])),
    detail: fc.option(text, { nil: undefined }),
  })
  .map(({ detail, ...rest }) => ({ ...rest, ...(detail !== undefined && { detail }) }));

const submission = lead.chain((lead) =>
  fc
    .tuple(
      fc.record({
        id: fc.uuid({ version: 7 }),
        workspaceId: fc.uuid(),
        linkId: fc.uuid(),
        leadId: fc.uuid(),
        identities: fc.array(
          fc.record({ key: text, owner: fc.oneof(fc.constantFrom(null, '0', 'self'), fc.uuid()) }),
          { maxLength: 3 },
        ),
        order,
        stamp: order,
        source: fc.constantFrom('post' as const, 'import' as const),
        notes: fc.array(note, { maxLength: 3 }),
        body: bodyOf(lead),
        bodyType: fc.constantFrom('json' as const, 'form' as const),
      }),
      optional({
        answeredLeadId: fc.uuid(),
        held: fc.record({
          reason: fc.constantFrom(...(Object.keys(HELD_REASONS) as HeldReason[])),
          keys: fc.array(text),
        }),
        consent: fc
          .tuple(fc.boolean(), optional({ text, textVersion: text }))
          .map(([given, words]) => ({ given, ...words })),
        page: text,
        userAgent: text,
        address: text,
        requestId: text,
      }),
    )
    .map(([required, more]): Submission => {
      const identities = required.identities.map(({ key, owner }) => ({
        key,
        owner: owner === 'self' ? required.leadId : owner,
      }));
      return { ...required, identities, lead, ...more };
    }),
);

test('a submission comes out of the queue as it went in, whatever its body holds', () => {
  fc.assert(
    fc.property(submission, (submission) => {
      const payload = JSON.parse(JSON.stringify(encodeSubmission(submission))) as unknown;
      expect(decodeSubmission(payload)).toEqual(submission);
      // toEqual does not see an own key called __proto__.
      const { customFields = {} } = decodeSubmission(payload).lead;
      expect(Object.entries(customFields).sort()).toEqual(
        Object.entries(submission.lead.customFields ?? {}).sort(),
      );
    }),
    { numRuns: 1000 },
  );
});

const sample: Submission = {
  id: '0197c2f0-0000-7000-8000-000000000001',
  workspaceId: 'w',
  linkId: 'k',
  leadId: 'l',
  identities: [{ key: 'email:ana@example.com', owner: 'l' }],
  order: 1_750_000_000_000_000,
  stamp: 1_750_000_000_000_000,
  source: 'post',
  lead: { email: 'ana@example.com', name: 'Ana' },
  notes: [],
  body: '{"email":"ana@example.com","name":"Ana"}',
  bodyType: 'json',
};

test('a lead that is normal as sent is not carried twice', () => {
  const payload = encodeSubmission(sample);
  expect(JSON.stringify(payload.p)).toBe('{}');
  expect(JSON.stringify(payload).match(/ana@example\.com/g)).toHaveLength(2);
});

describe('what is no encoded submission is refused without naming a value', () => {
  const good = encodeSubmission(sample);
  test.each([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'secret'],
    ['an array', [good]],
    ['an empty object', {}],
    ['no order', { ...good, o: undefined }],
    ['a fractional order', { ...good, o: 1.5 }],
    ['an order as text', { ...good, o: '1' }],
    ['an identity without owner', { ...good, i: [['secret']] }],
    ['an identity owned by a number', { ...good, i: [['secret', 7]] }],
    ['a source that is none', { ...good, src: 'secret' }],
    ['a note that is none', { ...good, n: [{ field: '/x', code: 'secret' }] }],
    ['a patch that is a list', { ...good, p: ['secret'] }],
    ['a patch to an unknown field', { ...good, p: { secret: 'x' } }],
    ['a patch to a value of the wrong type', { ...good, p: { name: 1 } }],
    ['a body the patch was not made for', { ...good, b: '{"name":["secret"]}' }],
  ])('%s', (_, payload) => {
    let message = '';
    expect(() => {
      try {
        decodeSubmission(payload);
      } catch (error) {
        if (error instanceof TypeError) message = error.message;
        throw error;
      }
    }).toThrow(TypeError);
    expect(message).not.toContain('secret');
  });
});

const lineOf = (submission: Submission) => memberLine({ jobId: submission.id, submission });
const read = (payload: unknown): JobPayload => {
  const reading = readJob(JSON.parse(JSON.stringify(payload)));
  if (reading.kind !== 'readable') throw new Error(reading.kind);
  return reading.payload;
};

describe('a payload', () => {
  test('gives the submissions that were packed together, in their order, whatever their bodies hold', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(submission, { minLength: 1, maxLength: 20 }), async (all) => {
        const payload = read(packJob(all.map(lineOf), { replay: false }));
        const members = all.map((one) => ({ kind: 'read', jobId: one.id, submission: one }));
        expect(payload.n).toBe(all.length);
        expect(await unpackJob(payload)).toEqual(members);
        expect(unpackJobSync(payload)).toEqual(members);
      }),
    );
  });

  test('keeps the id of a job of its own, and that it is a replay', async () => {
    const line = memberLine({ jobId: 'run-1', submission: sample });
    const payload = read(packJob([line], { replay: true }));
    expect(payload.r).toBe(1);
    expect(await unpackJob(payload)).toMatchObject([{ jobId: 'run-1', submission: sample }]);
  });

  test('of the largest group, and of the largest body, can be packed and unpacked', async () => {
    const most = Array.from({ length: LARGEST_GROUP.submissions }, () => lineOf(sample));
    expect(await unpackJob(packJob(most, { replay: false }))).toHaveLength(most.length);
    const large = lineOf({ ...sample, lead: {}, body: '\u0001'.repeat(65_536) });
    expect(await unpackJob(packJob([large], { replay: false }))).toMatchObject([{ kind: 'read' }]);
  });

  test('that unpacks to far more than any is refused', async () => {
    const bomb = packJob(['x'.repeat(5_000_000)], { replay: false });
    await expect(unpackJob(bomb)).rejects.toThrow();
    expect(() => unpackJobSync(bomb)).toThrow();
  });

  test('of a group does not hold up the event loop while it is unpacked', async () => {
    const most = Array.from({ length: LARGEST_GROUP.submissions }, () => lineOf(sample));
    const payload = packJob(most, { replay: false });
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 0);
    const count = () => setImmediate(() => ((turns += 1), pending && count()));
    let pending = true;
    count();
    await unpackJob(payload);
    pending = false;
    clearInterval(timer);
    // A turn for every few of them.
    expect(turns).toBeGreaterThanOrEqual(LARGEST_GROUP.submissions / 25 - 1);
  });

  test.each([
    null,
    {},
    'text',
    [],
    { v: 2 },
    { v: 2, n: 0, d: '' },
    { v: '2', n: 1, d: '' },
    { z: 1, d: '' },
  ])('is not what was not packed here (%j)', (data) =>
    expect(readJob(data)).toEqual({ kind: 'malformed' }),
  );

  test.each([{ v: 3 }, { v: 1, id: 'x' }])(
    'of another version is told from one that is none (%j)',
    (data) => expect(readJob(data)).toEqual({ kind: 'unknown-version', version: data.v }),
  );

  test.each(['', '!', 'AAAA'])('that holds no lines (%j) is refused', async (d) => {
    await expect(unpackJob({ v: 2, n: 1, d })).rejects.toThrow();
  });

  test('is read with the dictionary that jobs in Redis were packed with', async () => {
    // Packed by the first release: if this fails, every waiting lead would be lost.
    expect(await unpackJob({ v: 2, n: 1, d: PACKED })).toMatchObject([
      { kind: 'read', submission: sample },
    ]);
  });
});

const PACKED =
  'gyZNA0NL82SjNANdAwMDA11zEGEBIkBcKABZCEq+5dD0mw1NwDloKTgxL9EhtSIRFEWwZAxLtKZIxhkYwNMuIrWi6YXELCxlO+YlxijBgqO2FgA=';
