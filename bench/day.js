import { simulate } from './simulate.js';

/**
 * A day of ten thousand leads a second at its height, with a burst, by the model of simulate.js: the
 * figures of docs/scale.md. Run as `node bench/day.js`.
 */

/** Leads a second, hour by hour: quiet nights, a lunch break, evenings before the screen. */
const HOURS = [
  ...[2_000, 1_200, 800, 600, 600, 900, 1_800, 3_200, 4_800, 6_000, 6_600, 7_200],
  ...[8_400, 8_000, 7_000, 6_800, 7_000, 7_600, 8_600, 9_600, 10_000, 9_200, 6_400, 3_600],
];

/** A spot on television, at twenty past eight in the evening. */
const BURST = { hour: 20, afterSeconds: 1_200, seconds: 300, arrivals: 30_000 };

/** Leads a second that all workers do. @param {number} workedOff */
function day(workedOff) {
  return HOURS.flatMap((arrivals, hour) => {
    if (hour !== BURST.hour) return [{ seconds: 3_600, arrivals, workedOff }];
    const rest = 3_600 - BURST.afterSeconds - BURST.seconds;
    return [
      { seconds: BURST.afterSeconds, arrivals, workedOff },
      { seconds: BURST.seconds, arrivals: BURST.arrivals, workedOff },
      { seconds: rest, arrivals, workedOff },
    ];
  });
}

const leads = HOURS.reduce((sum, arrivals) => sum + 3_600 * arrivals, 0);
process.stdout.write(`${Math.round(leads / 1e6).toString()} million leads a day\n`);
for (const workedOff of [9_000, 10_500, 12_000, 16_000, 20_000]) {
  const { longest, oldestSeconds } = simulate(day(workedOff), { stepSeconds: 1 });
  process.stdout.write(
    `workers for ${workedOff.toString()}/s: ${(longest / 1e6).toFixed(2)} million wait at most, the oldest for ${(oldestSeconds / 60).toFixed(1)} minutes\n`,
  );
}
