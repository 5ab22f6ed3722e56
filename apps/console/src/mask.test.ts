import { sampleSubmission } from '@leadgate/testkit';
import { expect, test } from 'vitest';
import { forRole, mask } from './mask.ts';

test('of a submission a viewer sees when, where and what kind, and nothing of the person', () => {
  const submission = sampleSubmission(7, {
    notes: [{ field: '/customFields/maria@example.com', code: 'unknown-custom-field' }],
  });
  const masked = JSON.stringify(mask(submission));
  for (const value of ['maria', 'Maria', '80000007', 'Laranjeiras', '203.0.113', 'iPhone', 'manhã'])
    expect(masked).not.toContain(value);
  expect(masked).toContain(submission.id);
  expect(masked).toContain('unknown-custom-field');
});

test('keys that a sender chose are masked too', () => {
  expect(mask({ customFields: { 'ana@example.com': 'yes', b: 0 } })).toEqual({
    customFields: { '•••1': '•••', '•••2': '•••' },
  });
});

test('a field that nobody thought of is masked', () => {
  expect(mask({ leadId: 'a', newlyAdded: ['Ana', 1, true, null] })).toEqual({
    leadId: 'a',
    newlyAdded: ['•••', '•••', '•••', null],
  });
});

test('an operator sees everything as it is', () => {
  const submission = sampleSubmission();
  expect(forRole('operator', submission)).toBe(submission);
});

test('what is there and what is not can still be told', () => {
  expect(mask({ email: 'ana@example.com', telephone: '5511987654321', city: null })).toEqual({
    email: 'a•••',
    telephone: '•••21',
    city: null,
  });
});
