import { expect, test } from 'vitest';
import { readPlan } from './plan.js';

test('a plan is of the stages that are asked for', () => {
  expect(readPlan(['--quick', '--only=quiet,burst', '--profiles=here'])).toMatchObject({
    ...{ quick: true, stages: ['quiet', 'burst'], profiles: 'here' },
  });
  expect(readPlan([])).toMatchObject({ quick: false, profiles: null });
});

test('help is no fault, and names every stage', () => {
  const help = readPlan(['--help']);
  expect(help).toMatchObject({ status: 0 });
  for (const stage of ['receivers', 'quiet', 'npm-start'])
    expect(help).toMatchObject({ text: expect.stringContaining(stage) });
});

test.each([
  ['--fast', "Unknown option '--fast'"],
  ['fast', "'fast'"],
  ['--only=fast', "'fast'"],
  ['--only', 'argument missing'],
])('%s starts nothing, and what is taken is said', (arg, fault) => {
  const refused = readPlan([arg]);
  expect(refused).toMatchObject({ status: 2, text: expect.stringContaining(fault) });
  expect(refused).toMatchObject({ text: expect.stringContaining('--quick') });
});
