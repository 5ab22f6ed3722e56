#!/usr/bin/env node
import { existsSync } from 'node:fs';

const built = new URL('../dist/bin.js', import.meta.url);

if (existsSync(built)) await import(built.href);
else {
  process.stderr.write(
    'leadgate: not built yet. Run npm start (or npm run build) in the repository first.\n',
  );
  process.exitCode = 1;
}
