import { describe, expect, test } from 'vitest';
import { failureOf, StoreError, withoutValues } from './failure-of.ts';

const adapterError = (code: string, cause: object) =>
  Object.assign(new Error('Invalid invocation: "ana@example.com"'), {
    code,
    meta: { driverAdapterError: { cause } },
  });
const rawError = (originalCode: string) => adapterError('P2010', { originalCode });

describe('what Postgres answers', () => {
  test.each([
    ['40001', 'conflict'],
    ['40P01', 'conflict'],
    ['22021', 'data'],
    ['22P02', 'data'],
    ['22P05', 'data'],
    ['22008', 'data'],
    ['23514', 'data'],
    ['21000', 'data'],
    ['54000', 'data'],
    ['08006', 'unavailable'],
    ['25006', 'unavailable'],
    ['28P01', 'unavailable'],
    ['3D000', 'unavailable'],
    ['42P01', 'unavailable'],
    ['53100', 'unavailable'],
    ['53300', 'unavailable'],
    ['55P03', 'unavailable'],
    ['57014', 'unavailable'],
    ['57P01', 'unavailable'],
    ['57P03', 'unavailable'],
    ['42601', 'bug'],
    ['25P02', 'bug'],
    ['XX000', 'bug'],
  ])('%s asks for: %s', (sqlState, failure) => {
    expect(failureOf(rawError(sqlState))).toBe(failure);
    expect(failureOf(Object.assign(new Error(), { code: sqlState, severity: 'ERROR' }))).toBe(
      failure,
    );
    // Thrown where BEGIN or COMMIT failed.
    const bare = Object.assign(new Error('terminating connection'), {
      name: 'DriverAdapterError',
      cause: { kind: 'postgres', originalCode: sqlState },
    });
    expect(failureOf(bare)).toBe(failure);
    expect(withoutValues(bare)).toBeInstanceOf(StoreError);
  });
});

test.each([
  adapterError('P2010', { kind: 'DatabaseNotReachable', host: '127.0.0.1' }),
  adapterError('P1001', { kind: 'DatabaseNotReachable' }),
  Object.assign(new Error('Unable to start a transaction in the given time.'), { code: 'P2028' }),
  Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }),
  Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }),
  new Error('Connection terminated unexpectedly'),
  new Error('Connection terminated due to connection timeout'),
  new Error('timeout exceeded when trying to connect'),
  new Error('Client has encountered a connection error and is not queryable'),
])('a connection that is not there means to wait: %s', (error) => {
  expect(failureOf(error)).toBe('unavailable');
});

test('an error of our own is a bug and is thrown on as it is', () => {
  const error = new TypeError('x is not a function');
  expect(failureOf(error)).toBe('bug');
  expect(withoutValues(error)).toBe(error);
  expect(failureOf(null)).toBe('bug');
});

test('what is thrown on keeps the code and quotes no value', () => {
  const error = withoutValues(rawError('22P02'));
  expect(error).toBeInstanceOf(StoreError);
  expect(failureOf(error)).toBe('data');
  expect(String(error)).toContain('22P02');
  expect(JSON.stringify([error, String(error), (error as Error).stack])).not.toContain('ana@');
});
