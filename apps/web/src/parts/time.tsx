import { useFormatter, useNow } from 'use-intl';

interface Props {
  at: string;
  /** Of the last day: how long ago. */
  near?: boolean;
  /** Read second. */
  soft?: boolean;
}

/** A moment in the reader's zone; what it is to the second stands in its title. */
export function Time({ at, near = false, soft = false }: Props) {
  const format = useFormatter();
  const now = useNow({ updateInterval: 60_000 });
  const moment = new Date(at);
  const isNear = near && Math.abs(now.getTime() - moment.getTime()) < 86_400_000;
  const sameYear = now.getFullYear() === moment.getFullYear();
  return (
    <time
      dateTime={at}
      title={format.dateTime(moment, { dateStyle: 'full', timeStyle: 'long' })}
      className={soft ? 'soft' : undefined}
    >
      {isNear
        ? format.relativeTime(moment, now)
        : format.dateTime(moment, {
            ...{ day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' },
            ...(!sameYear && { year: 'numeric' }),
          })}
    </time>
  );
}
