import { useTranslations } from 'use-intl';

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const;

/** Writes how long something takes, in the largest unit that it has one of. */
export function useDuration(): (ms: number) => string {
  const t = useTranslations('standing');
  return (ms) => {
    const [unit, length] = UNITS.find(([, one]) => ms >= one) ?? (['s', 1_000] as const);
    return t(`duration.${unit}`, { count: Math.floor(ms / length) });
  };
}
