import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { StartError } from '@leadgate/boot';
import { makeAsset, type Asset } from './asset.ts';

const require = createRequire(import.meta.url);

/** The snippet for landing pages, as built. Throws a StartError where it has not been built. */
export function readSnippet(): Asset {
  try {
    const path = require.resolve('@leadgate/capture/capture.js');
    return makeAsset(readFileSync(path), 'text/javascript; charset=utf-8');
  } catch {
    throw new StartError('the snippet for landing pages is not built: run npm run build first');
  }
}
