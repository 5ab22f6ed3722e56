import type { ChaosReport } from './run-chaos.ts';

const MOST_SHOWN = 20;

/** The report as text: a table, what is wrong, and the line that counts. */
export function formatReport(report: ChaosReport): string {
  const { audit, traffic, faults, stops, crashes } = report;
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
  const byKind = new Map<string, number[]>();
  for (const { kind, forMs } of faults) byKind.set(kind, [...(byKind.get(kind) ?? []), forMs]);
  const early = stops.filter(({ signal }) => signal === 'SIGTERM');
  const unclean = stops.filter(({ code, signal }) => code !== 0 && signal !== 'SIGTERM');
  const longestStop = Math.max(0, ...stops.map(({ ms }) => ms));
  const rows: [string, string][] = [
    ['seed', report.seed.toString()],
    ['length', seconds(report.lengthMs)],
    ...[...byKind].sort().map(([kind, times]): [string, string] => {
      const total = times.reduce((sum, ms) => sum + ms, 0);
      return [kind, `${times.length} times, ${seconds(total)} in all`];
    }),
    ['posts sent', traffic.sent.size.toString()],
    ['answers', answersOf(traffic.answers)],
    ['posts left out, too many under way', traffic.skipped.toString()],
    [
      'longest gap without an accepted lead',
      `${seconds(traffic.longestGapMs)}, from ${seconds(traffic.longestGapAtMs)} on`,
    ],
    ['in that time', `${answersOf(traffic.longestGapAnswers) || 'no answer'}; ${faultsIn(report)}`],
    [
      'stops by SIGTERM',
      `${stops.length}, ${early.length} before they had begun, ${unclean.length} not with 0, longest ${seconds(longestStop)}`,
    ],
    ...unclean.map(({ name, code, signal, ms }): [string, string] => [
      `  ${name}`,
      `${signal ?? `status ${code}`} after ${seconds(ms)}`,
    ]),
    ['processes that ended by themselves', endingsOf(crashes)],
    ['time to drain', report.drainMs === null ? 'not drained' : seconds(report.drainMs)],
    ['submissions, leads, aliases', `${audit.submissions}, ${audit.leads}, ${audit.aliases}`],
    ['answers thrown away by a restore of Redis', audit.thrownAway.toString()],
    [
      'posts read again',
      `${report.readAgain.done} times to the end, ${report.readAgain.ended} times killed or failed`,
    ],
    ['messages that endpoints took', report.deliveries.messages.toString()],
    ['difference of the ledger', report.books.difference.toString()],
    [
      'a row deleted by hand',
      report.books.foundAfterMs === null
        ? 'not missed'
        : `missed and named after ${seconds(report.books.foundAfterMs)}`,
    ],
    ['violations', audit.violations.length.toString()],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return [
    ...rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`),
    ...audit.violations.slice(0, MOST_SHOWN),
    ...(report.folder === null ? [] : [`logs and ledger are kept in ${report.folder}`]),
    verdict(report),
  ].join('\n');
}

/** `accepted N, applied N, lost N, doubled N, undelivered N, stale wins N`. */
function verdict({ audit, deliveries: { undelivered, staleWins } }: ChaosReport): string {
  const { accepted, applied, lost, doubled } = audit;
  return `accepted ${accepted}, applied ${applied}, lost ${lost}, doubled ${doubled}, undelivered ${undelivered}, stale wins ${staleWins}`;
}

/** Whether everything that was promised was kept. */
export function isClean({ audit, drainMs }: ChaosReport): boolean {
  return drainMs !== null && audit.violations.length === 0;
}

function answersOf(answers: Record<number, number>): string {
  return Object.entries(answers)
    .map(([status, count]) => `${status === '0' ? 'none' : status}: ${count}`)
    .join(', ');
}

/** The faults that were there in the longest gap, and for how many seconds of it. */
function faultsIn({ traffic, spans }: ChaosReport): string {
  const from = traffic.startedAt + traffic.longestGapAtMs;
  const to = from + traffic.longestGapMs;
  return (
    spans
      .filter((span) => span.from < to && span.to > from)
      .map((span) => ({ ...span, ms: Math.min(to, span.to) - Math.max(from, span.from) }))
      .map(({ what, ms }) => `${what} ${(ms / 1_000).toFixed(1)} s`)
      .join(', ') || 'no fault'
  );
}

function endingsOf(crashes: ChaosReport['crashes']): string {
  const counts = new Map<string, number>();
  for (const { name, code, signal, said } of crashes) {
    const what = `${name.split(' ')[0]} (${signal ?? `status ${code}, ${said}`})`;
    counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  return [...counts].map(([what, count]) => `${what}: ${count}`).join(', ') || 'none';
}
