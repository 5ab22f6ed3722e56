import { readFileSync, readdirSync } from 'node:fs';
import { cpus } from 'node:os';
import { statOf } from '../scripts/servers/process.js';
import { spread } from './figures.js';

/** Clock ticks of /proc a second, on every Linux that Node runs on. */
const TICKS = 100;

const CORES = cpus().length;

/** @typedef {ReturnType<ReturnType<typeof countCpu>['stop']>} Cpu */

/**
 * CPU seconds that a process and its children have used since they started, user and system.
 * @param {number} pid
 */
function cpuSeconds(pid) {
  let ticks = 0;
  for (const entry of readdirSync('/proc')) {
    const fields = /^\d+$/.test(entry) ? statOf(Number(entry)) : null;
    if (fields === null) continue;
    const [own = 0, ownSystem = 0, reaped = 0, reapedSystem = 0] = fields.slice(11, 15).map(Number);
    if (Number(entry) === pid) ticks += own + ownSystem + reaped + reapedSystem;
    else if (Number(fields[1]) === pid) ticks += own + ownSystem;
  }
  return ticks / TICKS;
}

/** CPU seconds that the whole machine has used, whoever did. */
function machineSeconds() {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = line
    .replace(/^cpu +/, '')
    .split(' ')
    .map(Number);
  return (user + nice + system + irq + softirq) / TICKS;
}

/**
 * Resident memory of a process in MiB.
 * @param {number} pid
 */
export function residentMiB(pid) {
  const status = readFileSync(`/proc/${pid.toString()}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

/**
 * Starts to count: what each of these processes uses, and what is used on the machine by others.
 * @param {Record<string, number>} pids by name
 */
export function countCpu(pids) {
  const names = Object.keys(pids);
  const read = () => names.map((name) => cpuSeconds(pids[name] ?? 0));
  const before = { at: performance.now(), each: read(), machine: machineSeconds() };
  return {
    /**
     * Microseconds an item, by process and in all, and the share of the machine's time that went to
     * processes which are none of these: the noise.
     * @param {number} items
     */
    stop(items) {
      const seconds = (performance.now() - before.at) / 1_000;
      const each = read().map((value, i) => value - (before.each[i] ?? 0));
      const all = each.reduce((sum, value) => sum + value, 0);
      const micros = (/** @type {number} */ value) => (value * 1e6) / items;
      return {
        byProcess: Object.fromEntries(names.map((name, i) => [name, micros(each[i] ?? 0)])),
        total: micros(all),
        othersShare: Math.max(0, machineSeconds() - before.machine - all) / (seconds * CORES),
      };
    },
  };
}

/**
 * Of several measurements, with the names of a stage's figures.
 * @param {readonly Cpu[]} measured
 */
export function cpuFigures(measured) {
  const names = Object.keys(measured[0]?.byProcess ?? {});
  return {
    cpuMicrosPerLead: spread(measured.map(({ total }) => total)),
    cpuByProcess: Object.fromEntries(
      names.map((name) => [name, spread(measured.map((one) => one.byProcess[name] ?? 0)).median]),
    ),
    othersShareOfMachine: spread(measured.map(({ othersShare }) => othersShare)),
  };
}
