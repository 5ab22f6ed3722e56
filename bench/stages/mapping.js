import { readFileSync } from 'node:fs';
import { mapBody, presetMapping } from '@leadgate/leads';
import { spread } from '../figures.js';

/** @typedef {import('./bench.js').Bench} Bench */

/** What the mapping of a Google lead form may cost, of the CPU that a receiver takes for a post. */
const AT_MOST = 0.25;

const BODIES = 20_000;

const sample = new URL(
  '../../packages/leads/src/presets/samples/google-lead-form.json',
  import.meta.url,
);

/**
 * What it costs to read a body by a preset, in CPU a post, beside what a receiver takes for a post. A link
 * without a mapping asks for none.
 * @param {Bench} bench
 * @param {{ receiverMicros: number | undefined }} receivers of the same run
 */
export function measureMapping({ plan, say }, { receiverMicros }) {
  const [{ body }] = /** @type {[{ body: unknown }]} */ (
    /** @type {unknown} */ (JSON.parse(readFileSync(sample, 'utf8')))
  );
  const mapping = presetMapping('google-lead-form');
  const micros = [];
  for (let round = 0; round <= plan.rounds; round++) {
    const before = process.cpuUsage();
    for (let i = 0; i < BODIES; i++) mapBody(body, mapping);
    const { user, system } = process.cpuUsage(before);
    // The first compiles the queries and the code.
    if (round > 0) micros.push((user + system) / BODIES);
  }
  const cpuMicros = spread(micros);
  const share = receiverMicros === undefined ? undefined : cpuMicros.median / receiverMicros;
  const of =
    share === undefined
      ? 'run it with the stage receivers to know its share of a post'
      : `${(100 * share).toFixed(0)} % of a receiver’s (at most ${(100 * AT_MOST).toFixed(0)} %${share > AT_MOST ? ': MISSED' : ''})`;
  say(`  Google's lead form: ${cpuMicros.median.toFixed(1)} µs of CPU a post, ${of}`);
  return { cpuMicros, ...(share !== undefined && { share, atMost: AT_MOST }) };
}
