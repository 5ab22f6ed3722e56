import { readFileSync, readdirSync } from 'node:fs';

/** Clock ticks of /proc a second, on every Linux that Node runs on. */
const TICKS = 100;

/**
 * @typedef {object} ProcessTimes
 * @property {number} parent
 * @property {number} own seconds
 * @property {number} reaped seconds of children that have ended
 */

/**
 * @param {number | string} pid
 * @returns {ProcessTimes | null}
 */
function timesOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid.toString()}/stat`, 'utf8');
    // Fields count from behind the name, which may hold anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const ticks = (/** @type {number} */ at) => Number(fields[at]) / TICKS;
    return { parent: Number(fields[1]), own: ticks(11) + ticks(12), reaped: ticks(13) + ticks(14) };
  } catch {
    return null;
  }
}

/**
 * CPU seconds that a process and its children have used since they started, user and system.
 * @param {number} pid
 */
function cpuSeconds(pid) {
  let seconds = 0;
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const times = timesOf(entry);
    if (times === null) continue;
    if (Number(entry) === pid) seconds += times.own + times.reaped;
    else if (times.parent === pid) seconds += times.own;
  }
  return seconds;
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
     * @param {number} cores
     */
    stop(items, cores) {
      const seconds = (performance.now() - before.at) / 1_000;
      const each = read().map((value, i) => value - (before.each[i] ?? 0));
      const all = each.reduce((sum, value) => sum + value, 0);
      const micros = (/** @type {number} */ value) => (value * 1e6) / items;
      return {
        byProcess: Object.fromEntries(names.map((name, i) => [name, micros(each[i] ?? 0)])),
        total: micros(all),
        othersShare: Math.max(0, machineSeconds() - before.machine - all) / (seconds * cores),
      };
    },
  };
}
