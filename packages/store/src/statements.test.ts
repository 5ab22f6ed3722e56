import { bareSubmission } from '@leadgate/testkit';
import { expect, test } from 'vitest';
import { successorOf } from './apply/plan-workspace.ts';
import { storable } from './statements.ts';

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
