import { Badge } from '@mantine/core';
import { useCode } from './code.ts';

/** What came of sending a message. */
interface Answered {
  outcome: string;
  status: number | null;
}

export const isGood = ({ outcome }: Pick<Answered, 'outcome'>): boolean =>
  outcome === 'delivered' || outcome === 'skipped';

export const useOutcomeText = () => useCode(({ endpoint }) => endpoint.outcome);

export function AnswerBadge({ one }: { one: Answered }) {
  const outcomeText = useOutcomeText();
  const color = one.outcome === 'delivered' ? 'pine' : isGood(one) ? 'gray' : 'red';
  return (
    <Badge color={color}>
      {[one.status, outcomeText(one.outcome)].filter(Boolean).join(' · ')}
    </Badge>
  );
}
