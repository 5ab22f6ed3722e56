import type { Lead, Note } from '@leadgate/contract';
import { sampleSubmission } from '@leadgate/testkit';
import { expect, test } from 'vitest';
import { campaignText, minuteOfId, Tallies } from './ledger.ts';

test('the text of a campaign keeps no address and no number of a person', () => {
  expect(campaignText('  black friday 2026 ')).toBe('black friday 2026');
  expect(campaignText('mail ana.silva+x@example.com now')).toBe('mail … now');
  expect(campaignText('call +55 (11) 98765-4321')).toBe('call +…');
  expect(campaignText('cpf 123.456.789-09')).toBe('cpf …');
  expect(campaignText('a\u202eb\0c\nd')).toBe('abcd');
  expect(campaignText('x'.repeat(5_000))).toHaveLength(100);
  expect(campaignText(undefined)).toBe('');
  // Half of it would be a text that Postgres takes in no JSON, and with it no lead of the group.
  expect(campaignText(`${'x'.repeat(99)}🎉🎉`)).toBe(`${'x'.repeat(99)}🎉`);
});

test('an id says its minute, unless it is a day ahead', () => {
  const now = Date.parse('2026-11-28T12:00:30Z');
  const id = `${now.toString(16).padStart(12, '0')}`;
  const uuid = `${id.slice(0, 8)}-${id.slice(8)}-7000-8000-000000000000`;
  expect(new Date(minuteOfId(uuid, now)).toISOString()).toBe('2026-11-28T12:00:00.000Z');
  expect(minuteOfId('ffffffff-ffff-4fff-8fff-ffffffffffff', now)).toBe(now - 30_000);
});

test('posts of a group are counted by link and minute, by campaign, and by which fields they had', () => {
  const tallies = new Tallies();
  const at = Date.parse('2026-11-28T12:00:30Z');
  const hex = at.toString(16).padStart(12, '0');
  const post = (lead: Lead, notes: Note[] = [], linkId = LINK) => {
    const id = `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
    const submission = sampleSubmission(0, { id, linkId, lead, notes });
    tallies.addStored(submission, 'created', undefined, notes);
  };
  const unknown: Note[] = [{ field: '/plano', code: 'unknown-key' }];
  for (const email of ['a@x.example', 'b@x.example']) post({ email, name: 'Ana' });
  post({ email: 'c@x.example', name: 'Ana' }, unknown);
  post({ email: 'c@x.example', customFields: { size: 'M' } });
  post({ email: 'c@x.example', customFields: { plan: 'M' } });
  post({ email: 'c@x.example', otherKeys: { size: 'M' } });
  post({ email: 'd@x.example', name: 'Ana' }, [], OTHER_LINK);
  const rows = tallies.rows().map(({ linkId, what, n, ...rest }) => {
    expect(rest.at).toBe(at - 30_000);
    return `${linkId === LINK ? 'link' : 'other'} ${what.replaceAll('\n', ' ')} ${n}`;
  });
  expect(rows.sort()).toEqual([
    'link created 6',
    'link shape:email /customFields/plan 1',
    'link shape:email /customFields/size 1',
    'link shape:email /size 1',
    'link shape:email name 2',
    'link shape:email name ?/plano 1',
    'other created 1',
    'other shape:email name 1',
  ]);
});

const LINK = '0197b3f0-0000-7000-8000-000000000001';
const OTHER_LINK = '0197b3f0-0000-7000-8000-000000000002';
