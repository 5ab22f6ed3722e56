import { bareSubmission } from '@leadgate/testkit';
import { describe, expect, test } from 'vitest';
import { successorOf } from './apply/plan-workspace.ts';
import { StoreError } from './failure-of.ts';
import { storable, uuidArray } from './statements.ts';

const id = '0194ffff-aaaa-7bbb-8ccc-dddddddddddd';

test('what Postgres cannot hold goes, wherever it stands, and the rest stays', () => {
  const stored = storable(
    bareSubmission({
      workspaceId: id,
      leadId: id,
      lead: {
        name: 'A\0na \ud83d\ude00 \ud83d',
        customFields: { 'k\0ey': ['\udc00', '0', 'true'], n: 0, b: false },
      },
      body: '{"name":"A\0na"}',
      userAgent: 'x\ud800',
    }),
  );
  expect(stored.lead).toEqual({
    name: 'Ana \ud83d\ude00 \ufffd',
    customFields: { key: ['\ufffd', '0', 'true'], n: 0, b: false },
  });
  expect(stored.body).toBe('{"name":"Ana"}');
  expect(stored.userAgent).toBe('x\ufffd');
});

test('a custom field called __proto__ stays a key like any other', () => {
  const customFields = JSON.parse('{"__proto__":"x"}') as Record<string, string>;
  const { lead } = storable(
    bareSubmission({ workspaceId: id, leadId: id, lead: { customFields } }),
  );
  expect(JSON.stringify(lead.customFields)).toBe('{"__proto__":"x"}');
});

test('ids are told apart as Postgres tells them apart', () => {
  const upper = id.toUpperCase();
  expect(
    storable(
      bareSubmission({
        id: upper,
        workspaceId: upper,
        leadId: upper,
        answeredLeadId: upper,
        identities: [
          { key: 'email:A', owner: upper },
          { key: 'email:B', owner: null },
        ],
      }),
    ),
  ).toMatchObject({
    id,
    workspaceId: id,
    linkId: id,
    leadId: id,
    answeredLeadId: id,
    identities: [
      { key: 'email:A', owner: id },
      { key: 'email:B', owner: null },
    ],
  });
});

test('a successor is a UUID, always the same and never its predecessor', () => {
  const uuidV8 = /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  expect(successorOf(id)).toMatch(uuidV8);
  expect(successorOf(id)).toBe(successorOf(id));
  expect(successorOf(successorOf(id))).not.toBe(successorOf(id));
});

describe('an array of ids', () => {
  const UPPER = '01900000-ABCD-7EF0-8123-456789ABCDEF';

  test('holds each as its bytes, in either case', () => {
    const array = uuidArray([UPPER, null, undefined, UPPER.toLowerCase()]).toString('hex');
    const [head, ...ids] = [array.slice(0, 40), array.slice(40)];
    expect(head).toBe('00000001000000010000' + '0b86' + '0000000400000001');
    const bytes = `00000010${UPPER.toLowerCase().replaceAll('-', '')}`;
    expect(ids).toEqual([`${bytes}${'ffffffff'.repeat(2)}${bytes}`]);
  });

  test.each([
    ...['', 'x', UPPER.slice(1), `${UPPER}0`, UPPER.replace('A', 'g'), UPPER.replace('A', 'é')],
    ...[UPPER.replace('-', '0'), UPPER.replace('A', '-'), UPPER.replace('A', '\0')],
  ])('of %j is refused as Postgres does', (id) => {
    expect(() => uuidArray([id])).toThrow(new StoreError('data', '22P02'));
  });
});
