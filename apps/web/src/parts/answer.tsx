import { Badge } from '@mantine/core';
import { useTranslations } from 'use-intl';

/** What came of sending a message. */
interface Answered {
  outcome: string;
  status: number | null;
}

const OUTCOMES = [
  ...(['delivered', 'skipped', 'answered', 'refused', 'timeout'] as const),
  ...(['no-connection', 'broken-answer'] as const),
] as const;

export const isGood = ({ outcome }: Pick<Answered, 'outcome'>): boolean =>
  outcome === 'delivered' || outcome === 'skipped';

export function useOutcome(): (one: Pick<Answered, 'outcome'>) => string {
  const t = useTranslations('endpoint.outcome');
  return ({ outcome }) => {
    const known = OUTCOMES.find((name) => name === outcome);
    return known === undefined ? outcome : t(known);
  };
}

export function AnswerBadge({ one }: { one: Answered }) {
  const outcomeOf = useOutcome();
  const color = one.outcome === 'delivered' ? 'pine' : isGood(one) ? 'gray' : 'red';
  return <Badge color={color}>{[one.status, outcomeOf(one)].filter(Boolean).join(' · ')}</Badge>;
}
