import { expect, test } from 'vitest';
import { formatReport, isClean } from '../chaos/src/report.ts';
import { runChaos } from '../chaos/src/run-chaos.ts';

test('every process and server is killed, stopped, frozen, silenced, filled and restored once: what was accepted stands, once', async () => {
  const lines: string[] = [];
  const report = await runChaos({
    lengthMs: 20_000,
    seed: 7,
    receivers: 2,
    workers: 3,
    rate: 60,
    everyMs: 700,
    jobLockMs: 2_000,
    say: (line) => void lines.push(line),
  });
  expect(isClean(report), [...lines, formatReport(report)].join('\n')).toBe(true);
  expect(report.audit).toMatchObject({ lost: 0, doubled: 0, applied: report.audit.accepted });
  expect(report.audit.accepted).toBeGreaterThan(200);
  expect(report.deliveries).toMatchObject({ undelivered: 0, staleWins: 0 });
  expect(report.deliveries.messages).toBeGreaterThan(100);
}, 240_000);
