import { once } from 'node:events';

// Whoever reads may stop early (`leadgate lead find | head`).
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit();
});

// All else is in files that are named after what is in them: bin/leadgate.js keeps the code of those.
void import('./run.ts').then(async ({ run }) => {
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
});
