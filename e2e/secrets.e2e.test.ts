import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { folderForTest, forTest, startRecordingEndpoint } from '@leadgate/testkit';
import { Webhook } from 'standardwebhooks';
import { expect, test, vi } from 'vitest';
import { post, storedRows } from './leads.ts';
import { startSystem } from './system.ts';

const OLD = 'the old key of secrets, long enough';
const NEW = 'the new key of secrets, long enough';
const BOTH = { SECRETS_KEY: NEW, SECRETS_KEY_BEFORE: OLD };
/** In every secret that is given. */
const MARK = 's3cretzqx';

test('secrets go to another key while everything runs, and nothing that is stored shows one', async () => {
  const folder = folderForTest();
  const cliEnv: Record<string, string> = { SECRETS_KEY: OLD };
  const receiverEnv: Record<string, string> = { SECRETS_KEY: OLD, SPOOL_DIR: folder };
  const system = await forTest(startSystem({ cliEnv, receiverEnv }));
  const [receiver] = system.receivers;
  if (receiver === undefined) throw new Error('a receiver was asked for');
  const endpoint = await forTest(startRecordingEndpoint<{ data: { email: string } }>());
  let deliverer = await system.startDeliverer({ SECRETS_KEY: OLD });

  const { workspace, code } = await system.openLink();
  const file = join(folder, 'given.txt');
  await writeFile(file, MARK);
  await system.cli('link', 'prove', code, '--body-key', 'google_key', '--secret-file', file);
  // As a version of before stored it.
  const guarded = await system.openLink();
  await system.query(
    "UPDATE capture_link SET captcha_url = 'https://captcha.example/', captcha_secret = $1 WHERE id = $2",
    [MARK, guarded.linkId],
  );
  const headers = join(folder, 'headers.txt');
  await writeFile(headers, `authorization: Bearer ${MARK}\n`);
  const created = await system.cli<{ secret: string }>(
    ...['endpoint', 'create', workspace, 'crm', endpoint.url],
    ...['--headers-file', headers],
  );
  let sent = 0;
  const send = async (key = MARK) => {
    const lead = { email: `p${++sent}@example.com`, google_key: key };
    return (await post(receiver, code, lead)).status;
  };
  const delivered = async () => {
    const email = `p${sent}@example.com`;
    await vi.waitFor(
      () => expect(endpoint.messages.map(({ content }) => content.data.email)).toContain(email),
      20_000,
    );
    for (const { body, headers } of endpoint.messages) {
      new Webhook(created.secret).verify(body, headers as Record<string, string>);
      expect(headers.authorization).toBe(`Bearer ${MARK}`);
    }
  };
  await vi.waitFor(async () => expect(await send('wrong')).toBe(403));
  expect(await send()).toBe(202);
  await delivered();

  // Who only reads comes first.
  const restart = async (keys: Record<string, string>) => {
    delete receiverEnv['SECRETS_KEY'];
    await system.restartReceiver(receiver, keys);
    await deliverer.stop();
    deliverer = await system.startDeliverer(keys);
    expect([await send(), await send('wrong')]).toEqual([202, 403]);
  };
  await restart(BOTH);
  Object.assign(cliEnv, BOTH);
  interface Rotated {
    holders: { holder: string; current: number; renewed: number; unreadable: number }[];
  }
  const found = (renewed: number[], current: number[]) => ({
    holders: ['endpoint', 'link', 'operator'].map((holder, n) => ({
      ...{ holder, renewed: renewed[n], current: current[n], unreadable: 0 },
    })),
  });
  const rotating = system.cli<Rotated>('key', 'rotate');
  let isDone = false;
  void rotating.finally(() => (isDone = true));
  while (!isDone) expect([await send(), await send('wrong')]).toEqual([202, 403]);
  expect(await rotating).toMatchObject(found([2, 2, 0], [0, 0, 0]));
  expect(await send()).toBe(202);
  await delivered();

  // The old key is gone for good.
  delete cliEnv['SECRETS_KEY_BEFORE'];
  await restart({ SECRETS_KEY: NEW });
  expect(await send()).toBe(202);
  await delivered();
  expect(await system.cli('key', 'rotate')).toMatchObject(found([0, 0, 0], [2, 2, 0]));

  const stored = (await storedRows(system)).map(([, row]) => row);
  expect(stored.join('\n')).toContain('captcha.example');
  const links = JSON.stringify(await system.redis.hgetall('leadgate:{links}:entries'));
  expect(links).toContain('google_key');
  for (const text of [...stored, links]) {
    expect(text).not.toContain(MARK);
    expect(text).not.toContain(Buffer.from(MARK).toString('hex'));
    expect(text).not.toContain(created.secret);
  }
  for (const one of [receiver.member, deliverer, ...system.workers])
    expect(one.output()).not.toContain(MARK);
}, 120_000);
