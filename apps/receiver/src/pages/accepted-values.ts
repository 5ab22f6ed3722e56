/**
 * The values of a header of preferences (Accept, Accept-Language; RFC 9110, 12.4.2) with their
 * weights, in lower case, the best liked first; those of weight 0 are not wanted and left out.
 */
export function acceptedValues(header: string | undefined): { value: string; weight: number }[] {
  return (header ?? '')
    .toLowerCase()
    .split(',')
    .map((one) => {
      const [value = '', ...parameters] = one.split(';').map((part) => part.trim());
      const q = parameters.find((parameter) => parameter.startsWith('q='));
      const weight = q === undefined ? 1 : Number(q.slice(2));
      return { value, weight: Number.isFinite(weight) ? weight : 0 };
    })
    .filter(({ value, weight }) => value !== '' && weight > 0)
    .toSorted((a, b) => b.weight - a.weight);
}
