import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { prepare, ROOT, say } from './prepare.js';
import { runMain } from './run-main.js';

const APPS = ['receiver', 'console'];

// Writes apps/*/openapi.json from the schemas of their routes; a test of each compares the two.
await runMain(async () => {
  await prepare();
  for (const app of APPS) {
    const built = new URL(`../apps/${app}/dist/openapi.js`, import.meta.url).href;
    const { openapiDocument } = await import(built);
    const file = join(ROOT, `apps/${app}/openapi.json`);
    const options = { ...(await resolveConfig(file)), filepath: file };
    writeFileSync(file, await format(JSON.stringify(await openapiDocument()), options));
    say(`written: apps/${app}/openapi.json`);
  }
});
