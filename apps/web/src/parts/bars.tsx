import { VisuallyHidden } from '@mantine/core';
import { useFormatter } from 'use-intl';

/** What is drawn for one time, and what it is compared with. */
interface Bar {
  at: string;
  /** In words: what is read out, and what stands under the bar. */
  label: string;
  value: number;
  before?: number;
}

/** The next number of one digit and zeros, or half of one: where an axis ends. */
function roundUp(most: number): number {
  const step = 10 ** Math.floor(Math.log10(Math.max(most, 4)));
  return [1, 2, 4, 5, 10].map((n) => n * step).find((n) => n >= most) ?? most;
}

/**
 * Counts over time as bars, with what they are compared with behind them. The numbers stand under each bar as
 * one points at it, and in a table for who listens.
 */
export function Bars({
  bars,
  title,
  names: [now, before],
  every,
  height = 180,
}: {
  bars: readonly Bar[];
  title: string;
  /** What a bar and what is behind it are called. */
  names: readonly [now: string, before?: string];
  /** Every how many bars a label stands under it. */
  every: number;
  height?: number;
}) {
  const format = useFormatter();
  const most = roundUp(Math.max(...bars.flatMap((bar) => [bar.value, bar.before ?? 0]), 0));
  // On a telephone four labels at most, and none that the end would cut.
  const apart = every * Math.ceil(bars.length / 4 / every);
  const share = (n: number) => ({ height: `${(n / most) * 100}%` });
  return (
    <figure className="chart">
      <VisuallyHidden>
        <table>
          <caption>{title}</caption>
          <thead>
            <tr>
              <td />
              <th scope="col">{now}</th>
              {before !== undefined && <th scope="col">{before}</th>}
            </tr>
          </thead>
          <tbody>
            {bars.map((bar) => (
              <tr key={bar.at}>
                <th scope="row">{bar.label}</th>
                <td>{bar.value}</td>
                {before !== undefined && <td>{bar.before}</td>}
              </tr>
            ))}
          </tbody>
        </table>
      </VisuallyHidden>
      <div className="chart-plot" style={{ height }} aria-hidden>
        {[1, 0.5].map((line) => (
          <span key={line} className="chart-line" style={{ bottom: `${line * 100}%` }}>
            {format.number(most * line)}
          </span>
        ))}
        {bars.map((bar, n) => (
          <div key={bar.at} className="chart-time" data-late={n > bars.length / 2 || undefined}>
            {bar.before !== undefined && (
              <span className="chart-before" style={share(bar.before)} />
            )}
            <span className="chart-bar" style={share(bar.value)} />
            <span className="chart-tip card">
              <b>{bar.label}</b>
              <span>
                {now}: {format.number(bar.value)}
              </span>
              {bar.before !== undefined && (
                <span className="soft">
                  {before}: {format.number(bar.before)}
                </span>
              )}
            </span>
          </div>
        ))}
      </div>
      <div className="chart-labels" aria-hidden>
        {bars.map((bar, n) => (
          <span key={bar.at} data-spare={n % apart > 0 || n + apart > bars.length || undefined}>
            {n % every === 0 && <span>{bar.label}</span>}
          </span>
        ))}
      </div>
    </figure>
  );
}

/** The same in the height of a line: a shape, whose sum stands beside it. */
export function Spark({ values, label }: { values: readonly number[]; label: string }) {
  const most = Math.max(...values, 1);
  return (
    <span className="spark" role="img" aria-label={label}>
      {values.map((value, n) => (
        <span key={n} style={{ height: `${Math.max((value / most) * 100, 4)}%` }} />
      ))}
    </span>
  );
}
