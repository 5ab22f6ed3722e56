import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { createLogger, redactUrl } from './logger.ts';

function lines(log: (logger: ReturnType<typeof createLogger>) => void): string {
  const written: string[] = [];
  log(
    createLogger({
      name: 'test',
      level: 'info',
      pretty: false,
      destination: new Writable({
        write(chunk: Buffer, _, done) {
          written.push(chunk.toString());
          done();
        },
      }),
    }),
  );
  return written.join('');
}

test('a line is JSON with the name of the process, and an error without what hangs on it', () => {
  const line = lines((logger) =>
    logger.error(
      { err: Object.assign(new Error('failed'), { detail: 'ana@example.com' }) },
      'not applied',
    ),
  );
  expect(JSON.parse(line)).toMatchObject({
    name: 'test',
    msg: 'not applied',
    err: { type: 'Error', message: 'failed' },
  });
  expect(line).not.toContain('ana@example.com');
});

test('the password of a URL never reaches the log, wherever it stands in the line', () => {
  const url = 'postgresql://leadgate:hunter2@db.example/leads';
  const line = lines((logger) => logger.info({ deep: { er: { url } } }, `connecting to ${url}`));
  expect(line).not.toContain('hunter2');
  expect(JSON.parse(line)).toMatchObject({
    msg: 'connecting to postgresql://leadgate:***@db.example/leads',
  });
});

test.each([
  ['redis://:secret@h:1/0', 'redis://:***@h:1/0'],
  ['redis://user:p%40ss@h', 'redis://user:***@h'],
  ['redis://h:6379', 'redis://h:6379'],
  ['a@b.example and https://x/y:z@w', 'a@b.example and https://x/y:z@w'],
])('redactUrl of %s', (text, redacted) => {
  expect(redactUrl(text)).toBe(redacted);
});
