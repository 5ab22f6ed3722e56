import { appendFileSync, openSync, readSync } from 'node:fs';
import { PerformanceObserver, constants } from 'node:perf_hooks';

/**
 * Loaded into a process beside its program (`--import`): for how much CPU its thread at most held the event
 * loop, and how much memory it took. CPU, since what else runs on the machine takes none of it. SIGUSR2
 * appends what was seen since the last to the file that it was loaded with (`?to=`).
 */
const file = new URL(import.meta.url).searchParams.get('to') ?? '';
const told = openSync('/proc/thread-self/schedstat', 'r');
const bytes = Buffer.alloc(64);

/** Milliseconds of CPU of this thread; the kernel counts on four milliseconds late at most. */
function cpuMs() {
  const length = readSync(told, bytes, 0, bytes.length, 0);
  return Number(bytes.toString('latin1', 0, length).split(' ')[0]) / 1e6;
}

const nothing = { cpuMs: 0, rssMiB: 0, liveMiB: 0 };
let most = { ...nothing };
const MIB = 2 ** 20;

// Between two ticks are a millisecond at least and all that held the loop.
let before = cpuMs();
setInterval(() => {
  const now = cpuMs();
  most.cpuMs = Math.max(most.cpuMs, now - before);
  before = now;
}, 1).unref();

setInterval(() => {
  most.rssMiB = Math.max(most.rssMiB, process.memoryUsage.rss() / MIB);
}, 100).unref();

new PerformanceObserver((list) => {
  for (const entry of list.getEntries())
    if (Reflect.get(entry, 'detail').kind === constants.NODE_PERFORMANCE_GC_MAJOR)
      most.liveMiB = Math.max(most.liveMiB, process.memoryUsage().heapUsed / MIB);
}).observe({ entryTypes: ['gc'] });

process.on('SIGUSR2', () => {
  appendFileSync(file, `${JSON.stringify(most)}\n`);
  most = { ...nothing };
});
