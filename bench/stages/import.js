import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { leadgate as commandLine } from '../../scripts/launcher/apps.js';
import { bodyOf, nextFirst } from '../people.js';
import { startBoth } from './bench.js';

/** @typedef {import('./bench.js').Bench} Bench */

/**
 * A file of people whom nobody knows, imported by the command line while a receiver and a worker run:
 * until the last row is a lead.
 * @param {Bench} bench
 * @param {import('./bench.js').Figures} figures
 */
export async function measure(bench, { endToEnd }) {
  const { plan, servers, leadgate, say } = bench;
  const { drained, stop } = await startBoth(bench);
  const folder = mkdtempSync(join(tmpdir(), 'leadgate-import-'));
  const file = join(folder, 'people.ndjson');
  const first = nextFirst();
  const { rows } = plan.import;
  const lines = Array.from({ length: rows }, (_, i) => bodyOf(first + i));
  writeFileSync(file, `${lines.join('\n')}\n`);
  const env = { DATABASE_URL: leadgate.database.url, REDIS_URL: servers.redis.url };
  try {
    const start = performance.now();
    await commandLine(env, ['import', file, '--link', leadgate.database.code]);
    await drained();
    const rowsPerSecond = rows / ((performance.now() - start) / 1_000);
    const toEndToEnd = endToEnd && rowsPerSecond / endToEnd.leadsPerSecond;
    const ratio = toEndToEnd?.toFixed(2) ?? 'not measured: end-to-end was left out';
    say(`  ${Math.round(rowsPerSecond).toString()} rows/s; ÷ end to end: ${ratio} (at least 1)`);
    return { rows, rowsPerSecond, toEndToEnd };
  } finally {
    rmSync(folder, { recursive: true });
    await stop();
  }
}
