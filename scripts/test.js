import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, dirname, join } from 'node:path';
import { ROOT, prepare } from './prepare.js';
import { beginToFetchHelm } from './helm.js';
import { ltsNode } from './lts-node.js';
import { findChromium, requireProgram } from './programs.js';
import { runMain } from './run-main.js';
import { StartError } from './servers/process.js';

const USAGE = `npm test [-- <vitest arguments>]

All tests, after installing and building what they need:
  npm test                                  everything
  npm test -- packages/leads                the tests of a folder
  npm test -- -t 'phone'                    tests with a word in their title

Servers: TEST_REDIS_URL and TEST_DATABASE_URL when given (tests make databases of their own on them),
else containers where Docker answers, else private servers as npm start has them.

Suites of their own, which take vitest's arguments too. Root on Debian or Ubuntu has the programs that are
missing installed.
  npm run test:browser      what runs in a headless Chromium (CHROME_PATH, or one that is installed), and
                            the examples of the documentation with curl, PHP and Python. The snippet's run
                            against a real receiver that is given, too:
                            RECEIVER_URL=… RECEIVER_OPEN_LINK=… RECEIVER_CLOSED_LINK=…
  npm run screenshots       writes the console's pages, in both languages and modes, to .leadgate/screenshots
  npm run test:cluster      on a Redis Cluster of three masters and three replicas that this starts: the
                            tests named *.cluster.test.ts, which kill a master, move slots under load and
                            restart every process behind HAProxy, and those of npm test that say what a
                            Cluster could break
  npm run test:lts          all tests on the Node that is recommended, which npm brings
  npm run test:pgbouncer    the store's tests through a PgBouncer that pools transactions
  npm run openapi           writes apps/*/openapi.json from the schemas of the routes
  npm run test:redis -- valkey-server
                            what runs in Redis, on another Redis or Valkey: a program on the PATH, or where
                            it is
`;

/**
 * What vitest runs, and on what; `tests`: when its arguments name none.
 * @typedef {{ tests?: string[], config?: string, node?: string, env?: NodeJS.ProcessEnv }} Suite
 */

/** @type {Record<string, (args: string[]) => Suite | Promise<Suite>>} */
const SUITES = {
  all: () => ({}),
  browser: () => {
    for (const [program, name] of /** @type {const} */ ([
      ['bash', 'bash'],
      ['curl', 'curl'],
      ['openssl', 'openssl'],
      ['php', 'php-cli'],
      ['python3', 'python3'],
      ['ruby', 'ruby'],
    ]))
      requireProgram(program, name, 'to run the examples of the documentation with');
    return { config: 'vitest.browser.config.ts', env: { CHROME_PATH: findChromium() } };
  },
  screenshots: () => ({
    config: 'vitest.browser.config.ts',
    env: { CHROME_PATH: findChromium(), SCREENSHOTS: 'yes' },
    tests: ['apps/console/test/pages'],
  }),
  cluster: () => {
    requireProgram('haproxy', 'haproxy', 'to put in front of receivers');
    return { config: 'vitest.cluster.config.ts' };
  },
  lts: async () => {
    const node = await ltsNode();
    return { node, env: { PATH: [dirname(node), process.env.PATH].join(delimiter) } };
  },
  pgbouncer: () => {
    requireProgram('pgbouncer', 'pgbouncer', 'to run the store’s tests through');
    return {
      env: { TEST_PGBOUNCER: 'pgbouncer' },
      // What writes and what changes tables: what a pool of transactions could break.
      tests: ['packages/store/src/apply/apply-group.integration', 'packages/store/src/partitions'],
    };
  },
  openapi: () => ({ tests: ['apps/receiver/src/openapi', 'apps/console/src/openapi', '--update'] }),
  redis: (args) => {
    const program = args.shift();
    if (program === undefined || program.startsWith('-'))
      throw new StartError('say on what: npm run test:redis -- valkey-server');
    return {
      env: { TEST_REDIS_PROGRAM: program },
      // Whole processes need no other Redis than these do.
      tests: ['packages/boot/src', 'packages/intake/src', 'packages/queue/src'],
    };
  },
};

await runMain(async () => {
  const [name = 'all', ...args] = process.argv.slice(2);
  if (args.includes('--help')) {
    process.stdout.write(USAGE);
    return;
  }
  // The one download of a run that installing does not bring: only e2e/chart waits for it, should it come first.
  if (['all', 'lts'].includes(name) && args.length === 0) beginToFetchHelm();
  await prepare();
  const { tests = [], config, node, env } = (await SUITES[name]?.(args)) ?? {};
  const chosen = args.length > 0 ? args : tests;
  process.exitCode = await runVitest([...(config ? ['--config', config] : []), ...chosen], {
    node,
    env,
  });
});

/**
 * Runs vitest to its end, with its output on ours. Resolves with its exit status.
 * @param {readonly string[]} args
 * @param {{ node?: string | undefined, env?: NodeJS.ProcessEnv | undefined }} options the program that
 *   runs it, and its environment besides this process's own
 * @returns {Promise<number>}
 */
async function runVitest(args, { node = process.execPath, env = {} }) {
  const vitest = spawn(node, ['node_modules/vitest/vitest.mjs', 'run', ...args], {
    cwd: ROOT,
    stdio: 'inherit',
    // Node from 22 on keeps there what it compiled, for hundreds of processes that run the same.
    env: { NODE_COMPILE_CACHE: join(ROOT, '.leadgate/compiled'), ...process.env, ...env },
  });
  // A terminal sends Ctrl-C to both; vitest ends its servers, and this waits for it.
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(signal, () => signal !== 'SIGINT' && vitest.kill(signal));
  const [code] = await once(vitest, 'exit');
  return code ?? 1;
}
