import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT, prepare } from './prepare.js';
import { runMain } from './run-main.js';
import { StartError } from './servers/process.js';

/** `npm run chaos`: chaos/ compiled from its source, against the apps as they are built. */
await runMain(async () => {
  await prepare();
  const compiler = ['node_modules/typescript/bin/tsc', '-p', 'chaos/tsconfig.json'];
  const { status } = spawnSync(process.execPath, compiler, { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) throw new StartError('chaos/ could not be compiled: see above');
  process.setSourceMapsEnabled(true);
  await import(pathToFileURL(join(ROOT, 'chaos/dist/main.js')).href);
});
