/** @typedef {{ median: number, min: number, max: number }} Spread */

/**
 * @param {readonly number[]} values at least one
 * @returns {Spread}
 */
export function spread(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const low = sorted[Math.ceil(middle) - 1] ?? Number.NaN;
  const high = sorted[Math.floor(middle)] ?? Number.NaN;
  return {
    median: (low + high) / 2,
    min: sorted[0] ?? Number.NaN,
    max: sorted.at(-1) ?? Number.NaN,
  };
}

/** @param {number} value */
function round(value) {
  if (!Number.isFinite(value)) return value;
  return Number(value.toPrecision(4));
}

/**
 * Every number in it with four digits: more would be noise.
 * @param {unknown} value
 * @returns {unknown}
 */
export function rounded(value) {
  if (typeof value === 'number') return round(value);
  if (Array.isArray(value)) return value.map(rounded);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, rounded(inner)]));
}

/** @param {Spread} spread @param {string} [unit] */
export function told({ median, min, max }, unit = '') {
  const text = (/** @type {number} */ value) =>
    value >= 100 ? Math.round(value).toLocaleString('en') : round(value).toString();
  return `${text(median)}${unit} (${text(min)} to ${text(max)})`;
}

/**
 * The value below which this share of them are.
 * @param {readonly number[]} values
 * @param {number} share
 */
export function percentile(values, share) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN;
}

/**
 * What is said beside a figure that has a limit.
 * @param {number} value
 * @param {number} most
 * @param {string} [unit]
 */
export const atMost = (value, most, unit = '') =>
  `at most ${most.toString()}${unit}${value > most ? ': MISSED' : ''}`;
