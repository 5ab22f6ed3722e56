import react from '@vitejs/plugin-react';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import compile from 'icu-minify/compile';
import { build } from 'vite';

const OUT = join(import.meta.dirname, 'dist');

/** Files smaller than this are one packet either way. */
const WORTH_COMPRESSING = 1_024;

/** Those that know light-dark(), of 2024: for older ones it would be made of what Mantine does not set. */
const TARGET = ['chrome123', 'firefox120', 'safari17.5'];

/** What pages may share. */
const OURS = /node_modules|src\/(?!pages\/)|rolldown\/runtime/;
/** What pages with forms share, and those that are opened first need not load. */
const OF_FORMS =
  /(?:NumberInput|PasswordInput|Textarea|Radio|Tabs|Progress)|number-format|src\/(?:[\w-]*(?:form|import)|endpoint|settings|parts\/(?:page-form|form|run))/;

/** @typedef {string | readonly unknown[] | { [name: string]: Messages }} Messages */

/**
 * Messages as what formats them needs them, so that no page has to parse them.
 * @type {(messages: Messages) => Messages}
 */
const compiled = (messages) =>
  typeof messages === 'string'
    ? compile(messages)
    : Object.fromEntries(Object.entries(messages).map(([name, one]) => [name, compiled(one)]));

await build({
  configFile: false,
  root: import.meta.dirname,
  logLevel: 'warn',
  plugins: [
    react(),
    {
      name: 'messages',
      enforce: 'pre',
      transform: (text, id) =>
        /src\/messages\/\w+\.json$/.test(id) ? JSON.stringify(compiled(JSON.parse(text))) : null,
    },
  ],
  resolve: { alias: { 'use-intl/format-message': 'use-intl/format-message/format-only' } },
  // The console puts a nonce of each answer in its place.
  html: { cspNonce: '__NONCE__' },
  build: {
    outDir: OUT,
    target: TARGET,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    // A test measures what the first page loads.
    chunkSizeWarningLimit: 1_000,
    manifest: 'manifest.json',
    rolldownOptions: {
      output: {
        // A browser asks a server for six files at a time, and a seventh waits: what pages share are two, of which the
        // pages that are opened first need one.
        codeSplitting: {
          groups: [
            { name: 'shared', minShareCount: 2, test: (id) => OURS.test(id) && !OF_FORMS.test(id) },
            { name: 'forms', minShareCount: 2, test: OURS },
          ],
        },
      },
    },
  },
});

// What stands in the page itself, before all else.
await build({
  configFile: false,
  logLevel: 'warn',
  build: {
    outDir: OUT,
    emptyOutDir: false,
    target: TARGET,
    lib: {
      entry: join(import.meta.dirname, 'src/ahead.ts'),
      formats: ['iife'],
      name: 'ahead',
      fileName: () => 'ahead.js',
    },
  },
});

/** @type {Record<string, { file: string, imports?: string[], isEntry?: boolean }>} */
const manifest = JSON.parse(readFileSync(join(OUT, 'manifest.json'), 'utf8'));
rmSync(join(OUT, 'manifest.json'));

/** @type {(name: string) => string[]} */
const filesOf = (name) => {
  const { file = '', imports = [], isEntry = false } = manifest[name] ?? {};
  return isEntry ? [] : [`/${file}`, ...imports.flatMap(filesOf)];
};

// What a page loads besides the first script, by its address, and each language: the console names them in the
// page that it sends, so that the browser asks for all of it at once and not for one after another.
const source = readFileSync(join(import.meta.dirname, 'src/pages.ts'), 'utf8');
const pages = [...source.matchAll(/path: '([^']+)',\s+load: \(\) => import\('\.\/([^']+)'\)/g)];
writeFileSync(
  join(OUT, 'preload.json'),
  JSON.stringify({
    pages: Object.fromEntries(
      pages.map(([, path, file]) => [path, [...new Set(filesOf(`src/${file}`))]]),
    ),
    languages: Object.fromEntries(
      ['en', 'pt'].map((language) => [language, filesOf(`src/messages/${language}.json`)]),
    ),
  }),
);

// Once here, and not at every request.
for (const name of readdirSync(join(OUT, 'assets'))) {
  const file = join(OUT, 'assets', name);
  const content = readFileSync(file);
  if (content.length < WORTH_COMPRESSING) continue;
  writeFileSync(`${file}.gz`, await promisify(gzip)(content, { level: 9 }));
  writeFileSync(`${file}.br`, await promisify(brotliCompress)(content));
}
