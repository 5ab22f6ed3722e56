import { testDatabase } from '@leadgate/testkit';
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const bin = fileURLToPath(new URL('../bin/leadgate.js', import.meta.url));

function leadgate(file: string, argv: string[], env: Record<string, string> = {}) {
  return new Promise<{ status: unknown; out: string; err: string }>((resolve) => {
    execFile(
      process.execPath,
      [file, ...argv],
      { env: { PATH: process.env['PATH'], ...env }, cwd: tmpdir() },
      (error, out, err) => {
        resolve({ status: error === null ? 0 : error.code, out, err });
      },
    );
  });
}

test('what was built runs and ends by itself (needs npm run build)', async () => {
  const database = await testDatabase();
  const env = { DATABASE_URL: database.url, REDIS_URL: 'redis://127.0.0.1:1' };
  const created = await leadgate(bin, ['workspace', 'create', 'Built', '--json'], env);
  expect(created.err).toContain('stored in Postgres');
  expect(created.status).toBe(0);
  expect(JSON.parse(created.out)).toMatchObject({ name: 'Built' });
  expect(await leadgate(bin, ['nonsense'], env)).toMatchObject({ status: 2, out: '' });
  await database.drop();
});

test('what was not built says so', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'leadgate-bin-'));
  await mkdir(join(folder, 'bin'));
  await cp(bin, join(folder, 'bin', 'leadgate.mjs'));
  const ran = await leadgate(join(folder, 'bin', 'leadgate.mjs'), ['workspace', 'list']);
  expect(ran).toMatchObject({ status: 1, out: '' });
  expect(ran.err).toContain('npm start');
  await rm(folder, { recursive: true });
});
