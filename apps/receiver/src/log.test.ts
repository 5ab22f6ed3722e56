import { expect, test, vi } from 'vitest';
import { createFailureLog } from './log.ts';

test('an outage is a line in a while, with how many there were, and not a line a lead', () => {
  const warn = vi.fn();
  let now = 0;
  const onFailure = createFailureLog({ warn }, () => now);
  const error = new Error('connect ECONNREFUSED');
  for (let i = 0; i < 1_000; i += 1) onFailure('not-enqueued', error);
  expect(warn).toHaveBeenCalledTimes(1);
  onFailure('link-not-looked-up', error);
  expect(warn).toHaveBeenCalledTimes(2);
  now = 10_000;
  onFailure('not-enqueued', error);
  expect(warn).toHaveBeenLastCalledWith(
    { err: error, failure: 'not-enqueued', since: 999 },
    expect.any(String),
  );
});
