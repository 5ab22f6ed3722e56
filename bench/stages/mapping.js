import { readFileSync } from 'node:fs';
import { mapBody, parseBody, PRESET_NAMES, presetMapping } from '@leadgate/leads';
import { atMost, spread } from '../figures.js';

/** @typedef {import('./bench.js').Bench} Bench */

/** What reading by a preset may cost, of the CPU that a receiver takes for a post. */
const AT_MOST = 0.25;

const BODIES = 10_000;

/**
 * The first body that a preset is tested with, as a receiver parses it.
 * @param {string} preset
 * @returns {unknown}
 */
function sampleOf(preset) {
  const file = new URL(`../../packages/leads/src/samples/${preset}.json`, import.meta.url);
  const [{ body, form }] = /** @type {[{ body?: unknown, form?: string }]} */ (
    /** @type {unknown} */ (JSON.parse(readFileSync(file, 'utf8')))
  );
  if (form === undefined) return body;
  const parsed = parseBody(form, 'form');
  return parsed.kind === 'parsed' ? parsed.value : undefined;
}

/**
 * What it costs to read a body by each preset, in CPU a post, beside what a receiver takes for a post. A link
 * without a mapping asks for none.
 * @param {Bench} bench
 * @param {import('./bench.js').Figures} figures
 */
export function measure({ plan, say }, { receivers }) {
  const receiverMicros = receivers?.leadgate.cpuByProcess['service'];
  if (receiverMicros === undefined)
    say('  run it with the stage receivers to know the share of a post');
  const presets = PRESET_NAMES.map((preset) => {
    const mapping = presetMapping(preset);
    const body = sampleOf(preset);
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
        ? ''
        : `, ${(100 * share).toFixed(1)} % of a receiver’s (${atMost(100 * share, 100 * AT_MOST, ' %')})`;
    say(`  ${preset}: ${cpuMicros.median.toFixed(1)} µs of CPU a post${of}`);
    return [preset, { cpuMicros, ...(share !== undefined && { share }) }];
  });
  return { atMost: AT_MOST, ...Object.fromEntries(presets) };
}
