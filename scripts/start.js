import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { accessSync, constants, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { leadgate, startApp } from './launcher/apps.js';
import { fillDemo, openCaptureUrl, startDemoCrm } from './launcher/demo.js';
import { rotateLog, watchLog } from './launcher/log-watch.js';
import { supervise } from './launcher/supervise.js';
import { ROOT, checkNode, prepare, say } from './prepare.js';
import { checkPostgres, checkRedis } from './servers/given.js';
import { openLedger } from './servers/ledger.js';
import { readJson, writePrivateJson } from './servers/place.js';
import { startPostgres } from './servers/postgres.js';
import { StartError, choosePort, isPortFree } from './servers/process.js';
import { startRedis } from './servers/redis.js';
import { runMain } from './run-main.js';

/** @typedef {import('./servers/process.js').RunningProcess} RunningProcess */
/** @typedef {import('./servers/ledger.js').OpenLedger} OpenLedger */

const USAGE = `npm start

Starts Leadgate here: installs and builds what is missing, gets and starts a private Postgres and
Redis, migrates, starts the receiver, the worker, the deliverer and the console. The first start makes a demo workspace,
which \`npx leadgate demo remove\` takes away, and the console prints a one-time code to sign in with.
Ctrl-C stops all of it. Data, logs and run.json (where everything is) are in .leadgate/.

  RECEIVER_PORT   port of the receiver (3000)
  RECEIVER_HOST   address it listens on (127.0.0.1; 0.0.0.0 for every interface)
  CONSOLE_PORT    port of the operators' console (3001; a free one where that is taken)
  CONSOLE_HOST    address it listens on (127.0.0.1)
  WORKER_PORT     port of the worker's /live and /ready (a free one)
  DELIVERER_PORT  port of the deliverer's (a free one)
  DATABASE_URL    a Postgres to use instead of a private one
  REDIS_URL       a Redis to use instead of a private one
  LEADGATE_HOME   folder for data and logs (.leadgate)
  DEMO            off: the demo workspace has no leads
`;

/** Of the ten seconds that a stop may take, what each stage has before it is killed. */
const STOP_MS = { app: 3500, server: 2000 };

/** How often it is looked whether npm is still there. */
const PARENT_LOOK_MS = 500;

/** npm passes a terminal's Ctrl-C on although the terminal sent it already: that is no second one. */
const SAME_SIGNAL_MS = 1000;

await runMain(async () => {
  if (process.argv.includes('--help')) {
    process.stdout.write(USAGE);
    return;
  }
  checkNode();
  const home = makeHome();
  const ledger = await openLedger(join(home, 'launcher.json'), say);
  const stopping = stopOnSignals(ledger);
  /** @type {Undo[]} */
  const undo = [];
  try {
    await launch({ home, ledger, stopping, undo });
    await aborted(stopping);
    say('stopping');
  } catch (error) {
    if (!stopping.aborted) throw error;
  } finally {
    rmSync(join(home, 'run.json'), { force: true });
    await undoAll(undo);
    ledger.killAll();
    ledger.close();
    process.removeAllListeners('SIGINT').removeAllListeners('SIGTERM').removeAllListeners('SIGHUP');
  }
  say('stopped');
});

/**
 * What stops one thing; those of one stage stop together, the last stage first.
 * @typedef {{ name: string, stage: number, stop: () => Promise<boolean> }} Undo
 */

/** @param {{ home: string, ledger: OpenLedger, stopping: AbortSignal, undo: Undo[] }} context */
async function launch({ home, ledger, stopping, undo }) {
  const runFile = join(home, 'run.json');
  rmSync(runFile, { force: true });
  const { RECEIVER_HOST, CONSOLE_HOST } = process.env;
  const receiver = await addressOf('RECEIVER', { host: RECEIVER_HOST, usual: 3000, isKnown: true });
  const operators = await addressOf('CONSOLE', { host: CONSOLE_HOST, usual: 3001 });
  await prepare(stopping);
  mkdirSync(join(home, 'logs'), { recursive: true, mode: 0o700 });

  /** @type {Record<string, number>} */
  const pids = { launcher: process.pid };
  /** @type {Record<string, unknown> | null} */
  let run = null;
  /** @param {RunningProcess} process */
  const onProcess = (process) => {
    ledger.add(process);
    pids[process.name] = process.pid;
    if (run) writeRunFile(runFile, run);
  };
  /** @param {string} name */
  const logOf = (name) => join(home, 'logs', `${name}.log`);
  /**
   * @param {string} name
   * @param {number} stage
   * @param {number} stopMs
   * @param {() => Promise<import('./launcher/supervise.js').Running>} start
   */
  const keep = async (name, stage, stopMs, start) => {
    rotateLog(logOf(name));
    const kept = await supervise(name, start, stopping);
    undo.push({ name, stage, stop: () => kept.stop(stopMs) });
  };
  /**
   * @param {'redis' | 'postgres'} name
   * @param {typeof startRedis | typeof startPostgres} start
   */
  const keepServer = async (name, start) => {
    let url = '';
    await keep(name, 0, STOP_MS.server, async () => {
      const server = await start({ home, log: logOf(name), say, onProcess });
      // A server that comes back does so on its port: the apps know no other.
      if (url !== '' && server.url !== url) say(`${name} has another port now: restart npm start`);
      url = server.url;
      return { process: server.process, stop: server.stop };
    });
    return url;
  };

  const [databaseUrl, redisUrl] = await allOrFirstError([
    given('DATABASE_URL', checkPostgres) ?? keepServer('postgres', startPostgres),
    given('REDIS_URL', checkRedis) ?? keepServer('redis', startRedis),
  ]);
  stopping.throwIfAborted();

  const servers = { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, RECEIVER_URL: receiver.url };
  await leadgate(servers, ['migrate']);
  stopping.throwIfAborted();

  const worker = await innerAddress(home, 'worker');
  const deliverer = await innerAddress(home, 'deliverer');
  const allowNetworks = allowedNetworks();
  const secrets = {
    // Its file's name is of a time when only deliverers had it.
    secretsKey: keptSecret(home, 'SECRETS_KEY', 'deliverer-key.json'),
    consentKey: keptSecret(home, 'CONSENT_KEY', 'consent-key.json'),
    erasureKey: keptSecret(home, 'ERASURE_KEY', 'erasure-key.json'),
    erasureLedger: process.env['ERASURE_LEDGER']?.trim() || join(home, 'erasures.jsonl'),
  };
  const deliverySettings = {
    SECRETS_KEY: secrets.secretsKey,
    DELIVERY_ALLOW_NETWORKS: allowNetworks.join(','),
  };
  const erasureSettings = {
    ERASURE_KEY: secrets.erasureKey,
    ERASURE_LEDGER: secrets.erasureLedger,
  };
  /**
   * @param {'receiver' | 'worker' | 'deliverer' | 'console'} app
   * @param {number} stage
   * @param {import('./launcher/apps.js').Address} address
   * @param {NodeJS.ProcessEnv} env besides this process's own
   */
  const keepApp = (app, stage, address, env) => {
    const endWatch = watchLog(app, logOf(app));
    const stop = () => Promise.resolve(endWatch()).then(() => true);
    undo.push({ name: `log of ${app}`, stage: -1, stop });
    return keep(app, stage, STOP_MS.app, () =>
      startApp({
        ...{ app, address, log: logOf(app), onProcess, env: { ...process.env, ...env } },
        // Whoever tries it here reads errors by the lines of the source.
        flags: ['--enable-source-maps'],
      }),
    );
  };
  /** @param {string | null} demoCode */
  const keepReceiver = (demoCode) =>
    keepApp('receiver', 2, receiver, {
      REDIS_URL: redisUrl,
      // The public side is given no way to Postgres.
      DATABASE_URL: undefined,
      SPOOL_DIR: process.env.SPOOL_DIR?.trim() || join(home, 'spool'),
      DEMO_LINK: demoCode ?? undefined,
      CONSOLE_URL: operators.url,
      CONSENT_KEY: secrets.consentKey,
      SECRETS_KEY: secrets.secretsKey,
    });
  // At once: the worker fills Redis with the links that the receiver waits for, and only the receiver
  // is told of the demo's.
  const [{ captureUrl, demoCode, isToFill }] = await allOrFirstError([
    openCaptureUrl(servers).then(async (opened) => {
      if (!stopping.aborted) await keepReceiver(opened.demoCode);
      return opened;
    }),
    keepApp('worker', 1, worker, {
      ...servers,
      SHUTDOWN_TIMEOUT_MS: process.env.SHUTDOWN_TIMEOUT_MS ?? '3000',
      ...erasureSettings,
    }),
    keepApp('deliverer', 1, deliverer, {
      DATABASE_URL: databaseUrl,
      SHUTDOWN_TIMEOUT_MS: process.env.SHUTDOWN_TIMEOUT_MS ?? '2000',
      ...deliverySettings,
    }),
    keepApp('console', 2, operators, {
      ...servers,
      CONSOLE_SECRET: keptSecret(home, 'CONSOLE_SECRET', 'console.json'),
      CONSENT_KEY: secrets.consentKey,
      ...erasureSettings,
      ...deliverySettings,
    }),
  ]);
  stopping.throwIfAborted();

  const demoUrl = demoCode === null ? null : `${receiver.url}/demo`;
  const urls = { receiverUrl: receiver.url, consoleUrl: operators.url, captureUrl, demoUrl };
  run = { ...urls, databaseUrl, redisUrl, allowNetworks, secrets, pids };
  writeRunFile(runFile, run);
  tell({ home, runFile, ...urls });
  if (demoCode === null) return;
  const crm = await startDemoCrm(home);
  undo.push({ name: 'endpoint of the demo', stage: 0, stop: crm.stop });
  if (!isToFill) return;
  const filling = fillDemo({ ...servers, ...deliverySettings }, crm.url, stopping);
  undo.push({ name: 'filling of the demo', stage: 3, stop: () => filling.then(() => true) });
}

/** The folder for data and logs, made. */
function makeHome() {
  const home = resolve(process.env.LEADGATE_HOME?.trim() || join(ROOT, '.leadgate'));
  try {
    mkdirSync(home, { recursive: true, mode: 0o700 });
    accessSync(home, constants.W_OK);
  } catch (error) {
    throw new StartError(
      `cannot write to ${home} (${error instanceof Error ? error.message : String(error)}): ` +
        'set LEADGATE_HOME to a folder of yours',
    );
  }
  return home;
}

/**
 * Where an app will listen: at the port that it was given, else at its usual one, else at a free one. Throws a
 * StartError when one is taken that no other can stand for.
 * @param {'RECEIVER' | 'CONSOLE' | 'WORKER' | 'DELIVERER'} app
 * @param {{ host?: string | undefined, usual?: number, isKnown?: boolean, before?: number | undefined }} [options]
 *   `isKnown`: its usual port is what others are told
 * @returns {Promise<import('./launcher/apps.js').Address>}
 */
async function addressOf(app, { host: given, usual = 0, isKnown = false, before } = {}) {
  const host = given?.trim() || '127.0.0.1';
  const variable = `${app}_PORT`;
  const asked = readPort(variable);
  const wanted = asked ?? usual;
  const isFree = wanted !== 0 && (await isPortFree(wanted, host));
  if (wanted !== 0 && !isFree && (isKnown || asked !== undefined))
    throw new StartError(
      `port ${wanted.toString()} is taken: stop what listens there, or choose another one, ` +
        `like ${variable}=${(wanted + 10).toString()} npm start`,
    );
  const port = isFree ? wanted : await choosePort(before);
  // Of every interface, the one that is always there.
  const reachable = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  const name = reachable.includes(':') ? `[${reachable}]` : reachable;
  return { host, port, url: `http://${name}:${port.toString()}` };
}

/**
 * A secret that is made once and the same after a restart: what signs the console's cookies, so that nobody
 * is signed out by one, what secrets are encrypted under, and what people are erased under.
 * @param {string} home
 * @param {string} variable
 * @param {string} fileName
 */
function keptSecret(home, variable, fileName) {
  const given = process.env[variable]?.trim();
  if (given) return given;
  const file = join(home, fileName);
  const known = /** @type {{ secret?: string } | null} */ (readJson(file));
  const secret = known?.secret ?? randomBytes(32).toString('base64url');
  if (known?.secret !== secret) writePrivateJson(file, { secret });
  return secret;
}

/** What endpoints may be beside the internet: what runs here is tried with this machine's own programs. */
function allowedNetworks() {
  const given = process.env['DELIVERY_ALLOW_NETWORKS'];
  const text = given ?? '127.0.0.0/8,::1/128';
  return text.split(',').flatMap((network) => network.trim() || []);
}

/**
 * Where an app without a public side tells how it is: for this launcher only.
 * @param {string} home
 * @param {'worker' | 'deliverer'} name
 */
async function innerAddress(home, name) {
  const file = join(home, `${name}.json`);
  const known = /** @type {{ port?: number } | null} */ (readJson(file));
  const app = name === 'worker' ? 'WORKER' : 'DELIVERER';
  const address = await addressOf(app, { before: known?.port });
  writePrivateJson(file, { port: address.port });
  return address;
}

/**
 * Undefined if it is not set.
 * @param {string} variable
 */
function readPort(variable) {
  const text = process.env[variable]?.trim();
  if (!text) return undefined;
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new StartError(`${variable} is "${text}", which is no port: give a number up to 65535`);
}

/**
 * The URL of a server that was given, checked; undefined if none was.
 * @param {string} variable
 * @param {(variable: string, url: string) => Promise<void>} check
 */
function given(variable, check) {
  const url = process.env[variable]?.trim();
  return url ? check(variable, url).then(() => url) : undefined;
}

/**
 * Waits for all of them, so that nothing is still starting when the first error is thrown.
 * @template {readonly unknown[]} T
 * @param {[...T]} promises
 * @returns {Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }>}
 */
async function allOrFirstError(promises) {
  const results = await Promise.allSettled(promises);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  return Promise.all(promises);
}

/**
 * Aborted by the first signal, and when the `npm start` that began it is gone; a second signal ends
 * everything at once.
 * @param {OpenLedger} ledger
 * @returns {AbortSignal}
 */
function stopOnSignals(ledger) {
  const stop = new AbortController();
  const parent = process.ppid;
  // npm that is killed passes nothing on. Its shell is not between: `exec` in package.json.
  if (process.env['npm_lifecycle_event'] === 'start')
    setInterval(() => {
      if (process.ppid !== parent) stop.abort();
    }, PARENT_LOOK_MS).unref();
  let first = 0;
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(signal, () => {
      if (first === 0) {
        first = Date.now();
        stop.abort();
      } else if (Date.now() - first > SAME_SIGNAL_MS) {
        say('stopping at once');
        ledger.killAll();
        ledger.close();
        process.exit(1);
      }
    });
  return stop.signal;
}

/** @param {AbortSignal} signal */
async function aborted(signal) {
  // The timer keeps the process alive when nothing else does (servers are given, children unheard).
  const alive = setInterval(() => undefined, 60_000);
  if (!signal.aborted) await once(signal, 'abort');
  clearInterval(alive);
}

/** @param {Undo[]} undo */
async function undoAll(undo) {
  const stages = [...new Set(undo.map(({ stage }) => stage))].sort((a, b) => b - a);
  for (const stage of stages)
    await Promise.all(
      undo
        .filter((one) => one.stage === stage)
        .map(async ({ name, stop }) => {
          if (await stop()) return;
          say(`${name} did not stop in time and was killed`);
          process.exitCode = 1;
        }),
    );
}

/**
 * Written beside and moved, so that nobody reads half of it.
 * @param {string} path
 * @param {Record<string, unknown>} run
 */
function writeRunFile(path, run) {
  writePrivateJson(`${path}.new`, run);
  renameSync(`${path}.new`, path);
}

/** @param {{ home: string, runFile: string, receiverUrl: string, consoleUrl: string, captureUrl: string | null, demoUrl: string | null }} where */
function tell({ home, runFile, receiverUrl, consoleUrl, captureUrl, demoUrl }) {
  const lines = [
    '',
    `Leadgate takes leads at ${receiverUrl}`,
    ...(demoUrl ? [`  demo      ${demoUrl}`] : []),
    `  console   ${consoleUrl}`,
    `  logs      ${join(home, 'logs')}`,
    `  servers   ${runFile}`,
  ];
  if (captureUrl)
    lines.push(
      ...['', 'Post a lead:', ''],
      `  curl -i ${captureUrl} -H 'Content-Type: application/json' \\`,
      `    -d '{"name":"Ana Souza","email":"ana@example.com","telephone":"(11) 98765-4321","customFields":{"plano":"ouro"}}'`,
      ...['', 'and see it:', '', '  npx leadgate lead find ana@example.com', ''],
    );
  else lines.push('', 'No capture link is open: npx leadgate link create --help', '');
  lines.push('Ctrl-C stops it.', '');
  process.stdout.write(`${lines.join('\n')}\n`);
}
