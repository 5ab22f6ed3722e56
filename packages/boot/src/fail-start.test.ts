import { expect, test, vi } from 'vitest';
import { failStart, reasonNotToStart, StartError } from './config.ts';

test('what somebody can mend is told in its sentence, without a stack', () => {
  expect(reasonNotToStart(new StartError('Redis cannot be reached: start it.'))).toBe(
    'Redis cannot be reached: start it.',
  );
});

test('a taken port names the port', () => {
  const error = Object.assign(new Error('listen'), { code: 'EADDRINUSE', port: 3000 });
  expect(reasonNotToStart(error)).toBe(
    'Port 3000 is taken: stop what listens there, or choose another port.',
  );
});

test('a bug is told with where it is', () => {
  expect(reasonNotToStart(new TypeError('oops'))).toMatch(/^TypeError: oops\n\s+at /);
});

test('a process that cannot start says why on the error output and exits with 1', () => {
  const exit = vi.spyOn(process, 'exit').mockImplementation((() => undefined) as never);
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  failStart(new StartError('Set REDIS_URL.'));
  expect(stderr).toHaveBeenCalledWith('Set REDIS_URL.\n');
  expect(exit).toHaveBeenCalledWith(1);
});
