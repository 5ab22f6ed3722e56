import { spawnSync } from 'node:child_process';
import { ROOT, prepareSources, say } from './prepare.js';
import { runMain } from './run-main.js';
import { StartError } from './servers/process.js';

/** What writes and what changes tables: what a pool of transactions could break. */
const TESTS = ['packages/store/src/apply/apply-group.integration', 'packages/store/src/partitions'];

const PROGRAM = 'pgbouncer';

const isThere = () => spawnSync(PROGRAM, ['--version'], { stdio: 'ignore' }).status === 0;

// The store's tests once more, through a PgBouncer that pools transactions.
await runMain(async () => {
  await prepareSources();
  if (!isThere()) install();
  if (!isThere())
    throw new StartError('there is no pgbouncer here: install it with your package manager');
  const { status } = spawnSync(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', 'run', ...TESTS],
    {
      cwd: ROOT,
      stdio: 'inherit',
      env: { ...process.env, TEST_PGBOUNCER: PROGRAM },
    },
  );
  process.exitCode = status ?? 1;
});

/** Where we may: on Debian and Ubuntu, as root. */
function install() {
  if (process.getuid?.() !== 0 || spawnSync('apt-get', ['--version']).status !== 0) return;
  say('installing pgbouncer (apt-get)');
  spawnSync('apt-get', ['update'], { stdio: 'ignore' });
  spawnSync('apt-get', ['install', '-y', '--no-install-recommends', PROGRAM], { stdio: 'ignore' });
}
