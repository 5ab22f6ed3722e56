import { expect, test } from 'vitest';
import { createPaceMeter } from './progress.ts';

/** Marks every tenth of a second, as rows come at so many a second. */
function run(
  meter: ReturnType<typeof createPaceMeter>,
  from: number,
  seconds: number,
  rate: number,
) {
  let pace = { rows: 0, bytes: 0 };
  for (let i = 0; i <= seconds * 10; i += 1) {
    const rows = run.rows + (rate * i) / 10;
    pace = meter({ at: from + i * 100, rows, bytes: rows * 90 });
  }
  run.rows += rate * seconds;
  return pace;
}
run.rows = 0;

test('after rows that were passed over, the pace is soon that of what is taken', () => {
  const meter = createPaceMeter();
  expect(run(meter, 0, 15, 20_000).rows).toBeCloseTo(20_000, -1);
  const pace = run(meter, 15_000, 25, 1_000);
  expect(pace.rows).toBeGreaterThan(900);
  expect(pace.rows).toBeLessThan(1_100);
  expect(pace.bytes).toBeCloseTo(pace.rows * 90, 0);
});

test('of one moment there is no pace', () => {
  expect(createPaceMeter()({ at: 5, rows: 10, bytes: 10 })).toEqual({ rows: 0, bytes: 0 });
});
