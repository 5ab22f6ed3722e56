import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { CLI } from './launcher/apps.js';

/**
 * @typedef {{ receiverUrl: string, captureUrl: string, demoUrl: string, databaseUrl: string, redisUrl: string,
 *   pids: Record<string, number> }} RunFile
 */

const start = fileURLToPath(new URL('start.js', import.meta.url));
const READY = { timeout: 120_000, interval: 100 };

/** @type {string} */
let home;
/** @type {Launcher | undefined} */
let last;

beforeEach(() => {
  // Of mode 0700: nobody else can enter it, as a home may well be.
  home = mkdtempSync(join(tmpdir(), 'leadgate-start-'));
});

afterEach(async () => {
  await last?.stop('SIGTERM');
  if (existsSync(join(home, 'postgres')))
    rmSync(realpathSync(join(home, 'postgres')), { recursive: true, force: true });
  rmSync(home, { recursive: true, force: true });
});

test(
  'a lead of the first start is there after a second one, and every stop leaves no process',
  { timeout: 240_000 },
  async () => {
    const first = await launched();
    expect(statSync(join(home, 'run.json')).mode & 0o777).toBe(0o600);
    const leadId = await post(first.run.captureUrl, {
      email: 'ana@example.com',
      customFields: { plano: 'ouro' },
    });
    await vi.waitFor(async () => expect(await leadIds('ana@example.com')).toEqual([leadId]), READY);
    const demo = await (await fetch(first.run.demoUrl)).text();
    expect(demo).toContain(`action="${new URL(first.run.captureUrl).pathname}"`);
    const second = launch({});
    expect(await second.ended).toBe(1);
    expect(second.output()).toContain('already runs here');
    last = first;
    const stopped = Date.now();
    expect(await first.stop('SIGTERM')).toBe(0);
    expect(Date.now() - stopped).toBeLessThan(10_000);
    expectGone(first.run.pids);

    const third = await launched();
    expect(third.run.captureUrl.split('/').pop()).toBe(first.run.captureUrl.split('/').pop());
    expect(await leadIds('ana@example.com')).toEqual([leadId]);

    // Killed: what it leaves is ended by the next start.
    await third.stop('SIGKILL');
    expect(isAlive(third.run.pids['receiver'])).toBe(true);
    const fourth = await launched();
    expectGone(third.run.pids);
    expect(await leadIds('ana@example.com')).toEqual([leadId]);

    // An app that dies is started again.
    process.kill(fourth.run.pids['receiver'] ?? 0, 'SIGKILL');
    await vi.waitFor(() => {
      expect(readRunFile().pids['receiver']).not.toBe(fourth.run.pids['receiver']);
    }, READY);
    // The demo, which the stops above may have cut off, is filled and delivered; it is gone by one command, for good.
    await vi.waitFor(async () => {
      expect(await leadgateJson('workspace', 'list')).toMatchObject([{ demo: 'full' }]);
      const endpoints = await leadgateJson('endpoint', 'list');
      expect(endpoints.filter((/** @type {any} */ one) => one.deliveredAt)).toHaveLength(1);
    }, READY);
    expect((await leadgateJson('demo', 'remove')).counts.leads).toBeGreaterThan(1_000);
    expect(await leadgateJson('workspace', 'list')).toEqual([]);
    expect(await leadgateJson('demo', 'seed', '--if-fresh')).toBeNull();
    const { pids } = readRunFile();
    expect(await fourth.stop('SIGINT')).toBe(0);
    expectGone(pids);
    expect(existsSync(join(home, 'run.json'))).toBe(false);
  },
);

test.each(/** @type {const} */ (['SIGTERM', 'SIGKILL']))(
  'a supervisor that ends npm with %s ends all that npm start began',
  { timeout: 120_000 },
  async (signal) => {
    const { run, stop } = await launched(['npm', 'start']);
    await stop(signal);
    await vi.waitFor(() => expectGone(run.pids), { timeout: 20_000, interval: 100 });
    expect(existsSync(join(home, 'run.json'))).toBe(false);
    expect(existsSync(join(home, 'launcher.json'))).toBe(false);
  },
);

test('a taken port is said in one line that names another, and nothing is left running', async () => {
  const other = createServer();
  await new Promise((resolve) => other.listen(0, '127.0.0.1', () => resolve(undefined)));
  const address = other.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const launcher = launch({ RECEIVER_PORT: port.toString() });
  expect(await launcher.ended).toBe(1);
  expect(launcher.output()).toMatch(/^port \d+ is taken: .* RECEIVER_PORT=\d+ npm start\n$/);
  other.close();
});

test.each([
  ['REDIS_URL', 'redis://:secret@127.0.0.1:1', 'Redis at 127.0.0.1:1 (REDIS_URL)'],
  ['DATABASE_URL', 'postgresql://u:secret@127.0.0.1:1/x', 'Postgres at 127.0.0.1:1 (DATABASE_URL)'],
])(
  'a %s that does not answer is said in one line without its password',
  async (name, url, said) => {
    const launcher = launch({ [name]: url });
    expect(await launcher.ended).toBe(1);
    const line = launcher.output().trimEnd().split('\n').pop();
    expect(line).toContain(said);
    expect(launcher.output()).not.toContain('secret');
    expect(existsSync(join(home, 'launcher.json'))).toBe(false);
  },
);

/**
 * @typedef {object} Launcher
 * @property {Promise<number | null>} ended with its exit status
 * @property {() => string} output what it wrote on stderr
 * @property {(signal: NodeJS.Signals) => Promise<number | null>} stop
 */

/**
 * @param {NodeJS.ProcessEnv} env
 * @param {string[]} [line]
 * @returns {Launcher}
 */
function launch(env, line = [process.execPath, start]) {
  const { DATABASE_URL, REDIS_URL, ...inherited } = process.env;
  const [command = '', ...args] = line;
  const child = spawn(command, args, {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    env: { ...inherited, RECEIVER_PORT: '0', LEADGATE_HOME: home, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  child.stderr.on('data', (chunk) => {
    output += String(chunk);
  });
  /** @type {Promise<number | null>} */
  const ended = once(child, 'exit').then(([status]) => status);
  last = {
    ended,
    output: () => output,
    stop: (signal) => {
      child.kill(signal);
      return ended;
    },
  };
  return last;
}

/**
 * @param {string[]} [line]
 * @returns {Promise<Launcher & { run: RunFile }>} when everything is ready
 */
async function launched(line) {
  const launcher = launch({}, line);
  let over = false;
  void launcher.ended.then(() => (over = true));
  // One that a killed launcher left speaks of dead processes.
  const before = existsSync(join(home, 'run.json')) ? readRunFile().pids['launcher'] : undefined;
  await vi.waitUntil(
    () => over || (existsSync(join(home, 'run.json')) && readRunFile().pids['launcher'] !== before),
    READY,
  );
  if (over) throw new Error(`the launcher ended: ${launcher.output()}`);
  return { ...launcher, run: readRunFile() };
}

/** @returns {RunFile} */
function readRunFile() {
  return JSON.parse(readFileSync(join(home, 'run.json'), 'utf8'));
}

/**
 * @param {string} url
 * @param {object} lead
 * @returns {Promise<string>}
 */
async function post(url, lead) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(lead),
  });
  expect(response.status).toBe(202);
  const receipt = /** @type {{ leadId: string }} */ (await response.json());
  return receipt.leadId;
}

/**
 * @param {string} email
 * @returns {Promise<string[]>}
 */
async function leadIds(email) {
  const leads = (await leadgateJson('lead', 'find', email)) ?? [];
  return leads.map((/** @type {{ leadId: string }} */ lead) => lead.leadId);
}

/**
 * @param {string[]} args
 * @returns {Promise<any>} what the command printed; null for nothing
 */
async function leadgateJson(...args) {
  const child = spawn(process.execPath, [CLI, ...args, '--json'], {
    env: { ...process.env, LEADGATE_HOME: home, DATABASE_URL: undefined, REDIS_URL: undefined },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return JSON.parse((await text(child.stdout)) || 'null');
}

/** @param {Record<string, number>} pids */
function expectGone(pids) {
  for (const [name, pid] of Object.entries(pids))
    expect(isAlive(pid), `${name} (${pid.toString()}) still runs`).toBe(false);
}

/** @param {number | undefined} pid */
function isAlive(pid) {
  if (pid === undefined) return false;
  try {
    process.kill(pid, 0);
    // One that ended and was not waited for yet.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid.toString()}/status`, 'utf8'));
  } catch {
    return false;
  }
}
