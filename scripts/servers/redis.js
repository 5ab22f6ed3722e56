import { randomBytes } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { basename, join } from 'node:path';
import { readJson, writePrivateJson } from './place.js';
import { StartError, choosePort, startProcess, stopProcess, waitReady } from './process.js';
import { redisProgram } from './redis-program.js';

/** @typedef {import('./postgres.js').PrivateServer} PrivateServer */
/** @typedef {import('./redis-program.js').RedisProgram} RedisProgram */

/** How far above a node's port the nodes of a cluster talk to each other. */
export const CLUSTER_BUS = 10_000;

/**
 * Starts the Redis whose data is in the home: every write on disk before it is answered, nothing
 * ever evicted, loopback only, a random password (kept in the home, mode 0600), a port that is kept
 * as long as it is free.
 * @param {import('./postgres.js').ServerOptions} options
 * @returns {Promise<PrivateServer>}
 */
export async function startRedis({ home, log, say, programs = home, settings = {}, onProcess }) {
  const program = redisProgram({ home: programs, log, say });
  const data = join(home, 'redis');
  mkdirSync(data, { recursive: true, mode: 0o700 });
  const accessFile = join(home, 'redis.json');
  const known = /** @type {{ password: string, port?: number } | null} */ (readJson(accessFile));
  const password = settings['requirepass'] ?? known?.password ?? randomBytes(18).toString('hex');
  const isClustered = settings['cluster-enabled'] === 'yes';
  const port = await choosePort(known?.port, isClustered ? CLUSTER_BUS : 0);
  writePrivateJson(accessFile, { password, port });

  const inContainer = program.kind === 'container';
  if (isClustered && inContainer)
    throw new StartError(
      'a cluster needs Redis as a program, and here is only a container engine: install redis-server ' +
        '(or valkey-server) with your package manager',
    );
  const config = join(data, 'redis.conf');
  writeFileSync(
    config,
    configText({
      bind: inContainer ? '0.0.0.0' : '127.0.0.1',
      port: inContainer ? '6379' : port.toString(),
      dir: inContainer ? '/data' : data,
      requirepass: password,
      databases: isClustered ? '1' : '64',
      save: '',
      appendonly: 'yes',
      appendfsync: 'always',
      'no-appendfsync-on-rewrite': 'no',
      'maxmemory-policy': 'noeviction',
      ...settings,
    }),
    { mode: 0o600 },
  );
  const running = await startProcess({
    name: 'redis',
    ...(program.kind === 'container'
      ? { command: program.engine, args: containerArguments(program, { data, port, home }) }
      : { command: program.command, args: [config], ...(program.env && { env: program.env }) }),
    log,
    cwd: data,
  });
  onProcess?.(running);
  await waitReady(running, { ready: () => answers(port, password), timeoutMs: 60_000, log });
  return {
    url: `redis://:${password}@127.0.0.1:${port.toString()}/0`,
    port,
    process: running,
    stop: (timeoutMs = 5000) => stopProcess(running, { timeoutMs }),
  };
}

/** @param {Record<string, string>} settings */
function configText(settings) {
  return Object.entries(settings)
    .map(([name, value]) => `${name} ${JSON.stringify(value)}\n`)
    .join('');
}

/**
 * In the foreground: the engine's client passes our signals on to Redis.
 * @param {Extract<RedisProgram, { kind: 'container' }>} program
 * @param {{ data: string, port: number, home: string }} place
 */
function containerArguments({ engine, image }, { data, port, home }) {
  // The files in the home stay ours.
  const user = `${String(process.getuid?.() ?? 0)}:${String(process.getgid?.() ?? 0)}`;
  const name = `leadgate-redis-${port.toString()}-${basename(home).replace(/[^\w]/g, '')}`;
  spawnSync(engine, ['rm', '--force', name], { stdio: 'ignore' });
  return [
    ...['run', '--rm', '--name', name, '--user', user],
    ...['--publish', `127.0.0.1:${port.toString()}:6379`, '--volume', `${data}:/data`],
    ...[image, 'redis-server', '/data/redis.conf'],
  ];
}

/**
 * Whether a Redis takes this password and answers PING: not while it still loads its file.
 * @param {number} port
 * @param {string} password
 * @returns {Promise<boolean>}
 */
function answers(port, password) {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    let answer = '';
    /** @param {boolean} ready */
    const done = (ready) => {
      socket.destroy();
      resolve(ready);
    };
    socket.setTimeout(1000, () => done(false));
    socket.once('error', () => done(false));
    socket.once('close', () => done(false));
    socket.once('connect', () => socket.write(`AUTH ${password}\r\nPING\r\n`));
    socket.on('data', (chunk) => {
      answer += chunk.toString();
      if (answer.includes('\n-') || answer.startsWith('-')) done(false);
      else if (answer.includes('+PONG')) done(true);
    });
  });
}
