import { expect, test } from 'vitest';
import { keptAnswer, verdictOn, type SendResult } from './verdict.ts';

const answered = (status: number, retryAfter: string | null = null): SendResult => ({
  ...{ kind: 'answered', status, retryAfter, answer: '', durationMs: 1 },
});

test.each([
  [200, null, { kind: 'delivered' }],
  [204, null, { kind: 'delivered' }],
  [302, null, { kind: 'failed' }],
  [400, '5', { kind: 'failed' }],
  [410, null, { kind: 'gone' }],
  [429, '5', { kind: 'later', afterMs: 5_000 }],
  [503, '60', { kind: 'later', afterMs: 60_000 }],
  [503, null, { kind: 'failed' }],
  [429, 'soon', { kind: 'failed' }],
  [500, '5', { kind: 'failed' }],
])('%i with Retry-After %s', (status, retryAfter, verdict) => {
  expect(verdictOn(answered(status, retryAfter), 0)).toEqual(verdict);
});

test.each(['refused', 'timeout', 'no-connection', 'broken-answer'] as const)(
  '%s failed',
  (kind) => {
    expect(verdictOn({ kind, detail: '', durationMs: 1 }, 0)).toEqual({ kind: 'failed' });
  },
);

test('an answer that repeats the lead is kept without it', () => {
  const answer =
    '{"error":"MARIA SILVA <maria@example.com> of Niterói is known: +55 (11) 98765-4321, CPF 390.533.447-05","id":42}';
  const kept = keptAnswer(answer, ['Maria Silva', 'Niterói', 'RJ']);
  for (const personal of ['MARIA', 'maria', 'Niterói', '98765', '390', 'example.com'])
    expect(kept).not.toContain(personal);
  expect(kept).toContain('"error"');
  expect(kept).toContain('"id":42');
});

test('an answer is kept in part and without control characters', () => {
  expect(keptAnswer(`a\u0000\u001b[2J${'b'.repeat(5_000)}`, [])).toHaveLength(300);
  expect(keptAnswer('a\u0000\u001b[2Jb', [])).toBe('a [2Jb');
  // Half of it would keep Postgres from taking what came of all sends that are written with it.
  expect(keptAnswer(`${'b'.repeat(299)}🎉🎉`, [])).toBe(`${'b'.repeat(299)}🎉`);
});

test('letters that change their length with their case hide nothing', () => {
  expect(keptAnswer('İİİ Maria', ['Maria'])).not.toContain('Maria');
});
