import { parseArgs } from 'node:util';
import { formatReport, isClean } from './report.ts';
import { runChaos } from './run-chaos.ts';

const USAGE = `npm run chaos [-- --minutes 5] [--seed 1] [--rate 100] [--every 3] [--receivers 2] [--workers 3] [--cluster]

Starts receivers, workers, deliverers with endpoints, Redis and Postgres, posts leads, and breaks one after the other:
  --minutes   how long to break things
  --seed      the same faults in the same order for the same number
  --rate      posts a second
  --every     seconds from one fault to the next, on average
  --receivers, --workers
              how many of each
  --cluster   on a Redis Cluster: three masters and three replicas, three shards
Ends with status 1 when an accepted lead is lost or stands twice, a lead is not what it should be, or an
endpoint does not have a lead as it stands once all is well.
`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    seed: { type: 'string', default: '1' },
    rate: { type: 'string', default: '100' },
    every: { type: 'string', default: '3' },
    receivers: { type: 'string', default: '2' },
    workers: { type: 'string', default: '3' },
    cluster: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const seed = Number(values.seed);
const amounts = {
  minutes: Number(values.minutes),
  rate: Number(values.rate),
  every: Number(values.every),
  receivers: Math.floor(Number(values.receivers)),
  workers: Math.floor(Number(values.workers)),
};
if (values.help) process.stdout.write(USAGE);
else if (Number.isNaN(seed) || !Object.values(amounts).every((amount) => amount > 0)) {
  process.stderr.write(USAGE);
  process.exitCode = 2;
} else {
  // What was started is ended when this process exits.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  const { minutes, rate, every, receivers, workers } = amounts;
  const report = await runChaos({
    lengthMs: minutes * 60_000,
    seed,
    receivers,
    workers,
    cluster: values.cluster,
    rate: Math.min(rate, 1_000),
    everyMs: every * 1_000,
    jobLockMs: 5_000,
    say: (line) => void process.stderr.write(`${line}\n`),
  });
  process.stdout.write(`${formatReport(report)}\n`);
  process.exitCode = isClean(report) ? 0 : 1;
}
