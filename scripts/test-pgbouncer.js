import { prepareSources, say } from './prepare.js';
import { requireProgram } from './require-program.js';
import { runMain } from './run-main.js';
import { runVitest } from './run-vitest.js';

/** What writes and what changes tables: what a pool of transactions could break. */
const TESTS = ['packages/store/src/apply/apply-group.integration', 'packages/store/src/partitions'];

const PROGRAM = 'pgbouncer';

// The store's tests once more, through a PgBouncer that pools transactions.
await runMain(async () => {
  await prepareSources();
  requireProgram(PROGRAM, PROGRAM, 'to run the store’s tests through', say);
  process.exitCode = await runVitest(TESTS, { env: { TEST_PGBOUNCER: PROGRAM } });
});
