import { expect, test } from 'vitest';
import { campaignText, minuteOfId } from './tally.ts';

test('the text of a campaign keeps no address and no number of a person', () => {
  expect(campaignText('  black friday 2026 ')).toBe('black friday 2026');
  expect(campaignText('mail ana.silva+x@example.com now')).toBe('mail … now');
  expect(campaignText('call +55 (11) 98765-4321')).toBe('call +…');
  expect(campaignText('cpf 123.456.789-09')).toBe('cpf …');
  expect(campaignText('a\u202eb\0c\nd')).toBe('abcd');
  expect(campaignText('x'.repeat(5_000))).toHaveLength(100);
  expect(campaignText(undefined)).toBe('');
});

test('an id says its minute, unless it is a day ahead', () => {
  const now = Date.parse('2026-11-28T12:00:30Z');
  const id = `${now.toString(16).padStart(12, '0')}`;
  const uuid = `${id.slice(0, 8)}-${id.slice(8)}-7000-8000-000000000000`;
  expect(new Date(minuteOfId(uuid, now)).toISOString()).toBe('2026-11-28T12:00:00.000Z');
  expect(minuteOfId('ffffffff-ffff-4fff-8fff-ffffffffffff', now)).toBe(now - 30_000);
});
