import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { countCpu } from '../cpu.js';
import { nextFirst } from '../people.js';
import { here } from '../processes.js';
import { processLedger } from '../../scripts/servers/private-home.js';
import { recordOf } from '../../scripts/servers/process.js';

/** @typedef {import('./post-leads.js').LoadResult} LoadResult */

/**
 * @typedef {object} Measured
 * @property {number} rate accepted leads a second
 * @property {LoadResult} load
 * @property {import('../cpu.js').Cpu} cpu microseconds a lead; the load is not in the total
 */

/**
 * Posts leads from a process of its own, and counts what it costs.
 * @param {string} url of a capture link
 * @param {{ seconds: number, connections: number, known: number, rate?: number | null }} load
 * @param {Record<string, number>} pids of the processes that serve it
 * @returns {Promise<Measured>}
 */
export async function postLeads(url, { seconds, connections, known, rate = null }, pids) {
  const order = { url, connections, seconds, rate, first: nextFirst(), known };
  const { add } = await processLedger();
  const child = spawn(process.execPath, [here('load/post-leads.js'), JSON.stringify(order)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { NODE_ENV: 'production' },
  });
  const pid = child.pid ?? 0;
  add({ name: 'load', ...recordOf(pid) });
  const count = countCpu({ ...pids, load: pid });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (/** @type {string} */ text) => {
    output += text;
  });
  /** @type {import('../cpu.js').Cpu | undefined} */
  let cpu;
  // Its result is the last that it does: counted before the process, and its times, are gone.
  child.stdout.once('data', () => {
    cpu = count.stop(1);
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`the load ended with ${String(code)}`);
  /** @type {LoadResult} */
  const load = JSON.parse(output);
  const accepted = load.statuses['202'] ?? 0;
  if (cpu === undefined) throw new Error('the load told nothing');
  const each = (/** @type {number} */ micros) => micros / Math.max(1, accepted);
  const byProcess = Object.fromEntries(
    Object.entries(cpu.byProcess).map(([name, value]) => [name, each(value)]),
  );
  const total = each(cpu.total) - (byProcess['load'] ?? 0);
  return { rate: load.rate, load, cpu: { ...cpu, byProcess, total } };
}
