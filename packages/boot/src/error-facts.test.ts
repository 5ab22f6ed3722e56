import { describe, expect, test } from 'vitest';
import { errorFacts } from './logger.ts';

const ANA = 'ana@example.com';

/** Everything an error turns into, as text. */
const told = (error: unknown) => JSON.stringify(errorFacts(error));

const errorWith = (message: string, more: object): Error => Object.assign(new Error(message), more);

describe('errorFacts keeps personal data out of logs', () => {
  test('the row that Postgres quotes in detail, and the value in its message', () => {
    const error = errorWith(`invalid input syntax for type date: "${ANA}"`, {
      severity: 'ERROR',
      code: '22007',
      detail: `Failing row contains (${ANA}).`,
      where: `unnamed portal parameter $1 = '${ANA}'`,
    });
    expect(told(error)).not.toContain(ANA);
    expect(errorFacts(error)).toMatchObject({
      code: '22007',
      message: 'Postgres refused the data (SQLSTATE 22007)',
    });
  });

  test('the value that a driver adapter wraps in an error of Prisma', () => {
    class PrismaClientKnownRequestError extends Error {
      code = 'P2010';
      meta = { driverAdapterError: { cause: { originalCode: '22P05', originalMessage: ANA } } };
    }
    const error = new PrismaClientKnownRequestError(`Raw query failed. Message: \`"${ANA}"\``);
    expect(told(error)).not.toContain(ANA);
    expect(errorFacts(error)).toMatchObject({
      type: 'PrismaClientKnownRequestError',
      code: '22P05',
    });
  });

  test('the arguments of the Redis command that failed', () => {
    class ReplyError extends Error {
      command = { name: 'hset', args: ['key', ANA] };
    }
    expect(told(new ReplyError('OOM command not allowed'))).not.toContain(ANA);
    expect(
      told(new ReplyError(`ERR unknown command 'hsett', with args beginning with: '${ANA}'`)),
    ).not.toContain(ANA);
  });

  test('the text that could not be parsed, which V8 quotes in its message', () => {
    const parse = () => JSON.parse(`${ANA}`) as unknown;
    let error: unknown;
    try {
      parse();
    } catch (thrown) {
      error = thrown;
    }
    expect(told(error)).not.toContain('ana@');
    expect(errorFacts(error).type).toBe('SyntaxError');
  });

  test('the causes of an error, however deep', () => {
    const cause = errorWith('refused', { detail: ANA });
    const error = new Error('could not apply', { cause: new Error('in between', { cause }) });
    expect(told(error)).not.toContain(ANA);
    expect(errorFacts(error).cause?.cause?.message).toBe('refused');
  });

  test('what is thrown but is no error', () => {
    expect(told(ANA)).not.toContain(ANA);
    expect(told({ message: ANA })).not.toContain(ANA);
  });
});

test('errorFacts keeps what tells where it went wrong', () => {
  const facts = errorFacts(errorWith('no route', { code: 'EHOSTUNREACH' }));
  expect(facts).toMatchObject({ type: 'Error', code: 'EHOSTUNREACH', message: 'no route' });
  expect(facts.stack).toMatch(/^Error: no route\n\s+at .*error-facts\.test\.ts/);
});

test('errorFacts of an error that is its own cause ends', () => {
  const error = new Error('round');
  error.cause = error;
  expect(told(error)).toContain('round');
});

test('errorFacts replaces the password of a URL in a message', () => {
  expect(told(new Error('cannot reach redis://default:hunter2@10.0.0.1:6379/0'))).not.toContain(
    'hunter2',
  );
});
