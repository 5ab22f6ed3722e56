import { readFileSync } from 'node:fs';
import { makeAsset, type Asset } from './asset.ts';

/** A landing page that posts to one link, for trying things out. */
export interface Demo {
  page: Asset;
  style: Asset;
  script: Asset;
}

const FOLDER = new URL('../../demo/', import.meta.url);

/** Reads it for a capture code; `consoleUrl`: where a lead is looked at, if anywhere. */
export function readDemo({ code, consoleUrl }: { code: string; consoleUrl: string | null }): Demo {
  const read = (name: string) => readFileSync(new URL(name, FOLDER));
  const page = read('index.html')
    .toString('utf8')
    .replaceAll('{{code}}', encodeURIComponent(code))
    .replaceAll('{{console}}', attribute(consoleUrl?.replace(/\/+$/, '') ?? ''));
  return {
    page: makeAsset(Buffer.from(page), 'text/html; charset=utf-8'),
    style: makeAsset(read('demo.css'), 'text/css; charset=utf-8'),
    script: makeAsset(read('demo.js'), 'text/javascript; charset=utf-8'),
  };
}

const attribute = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');
