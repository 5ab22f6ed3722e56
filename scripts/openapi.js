import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { prepare, ROOT, say } from './prepare.js';
import { runMain } from './run-main.js';

// Writes apps/receiver/openapi.json from the schemas of its routes; a test compares the two.
await runMain(async () => {
  await prepare();
  const built = new URL('../apps/receiver/dist/openapi.js', import.meta.url).href;
  const { openapiDocument } = await import(built);
  const file = join(ROOT, 'apps/receiver/openapi.json');
  const options = { ...(await resolveConfig(file)), filepath: file };
  writeFileSync(file, await format(JSON.stringify(await openapiDocument()), options));
  say('written: apps/receiver/openapi.json');
});
