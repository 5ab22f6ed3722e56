import react from '@vitejs/plugin-react';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import { build } from 'vite';

const OUT = join(import.meta.dirname, 'dist');

/** Files smaller than this are one packet either way. */
const WORTH_COMPRESSING = 1_024;

await build({
  configFile: false,
  root: import.meta.dirname,
  logLevel: 'warn',
  plugins: [react()],
  // The console puts a nonce of each answer in its place.
  html: { cspNonce: '__NONCE__' },
  build: {
    outDir: OUT,
    // Those that know light-dark(), of 2024: for older ones it would be made of what Mantine does not set.
    target: ['chrome123', 'firefox120', 'safari17.5'],
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    // A test measures what the first page loads.
    chunkSizeWarningLimit: 1_000,
  },
});

// Once here, and not at every request.
for (const name of readdirSync(join(OUT, 'assets'))) {
  const file = join(OUT, 'assets', name);
  const content = readFileSync(file);
  if (content.length < WORTH_COMPRESSING) continue;
  writeFileSync(`${file}.gz`, await promisify(gzip)(content, { level: 9 }));
  writeFileSync(`${file}.br`, await promisify(brotliCompress)(content));
}
