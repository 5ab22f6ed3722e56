import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { run } from './run.ts';

// Prisma compiles queries with a WebAssembly: optimising it takes longer than a command's few queries.
setFlagsFromString('--liftoff-only');

// Whoever reads may stop early (`leadgate lead find | head`).
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

process.exitCode = await run(process.argv.slice(2), {
  out: (text) => process.stdout.write(text),
  drained: async () => {
    if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain');
  },
  err: (text) => process.stderr.write(text),
  env: process.env,
  cwd: process.cwd(),
  isTerminal: process.stderr.isTTY,
  printsToTerminal: process.stdout.isTTY,
});
