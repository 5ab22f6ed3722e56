import { expect, test } from 'vitest';
import { readState } from './values.ts';

test.each([
  ['sp', 'SP'],
  ['são paulo', 'SP'],
  ['SAO PAULO', 'SP'],
  ['Sa\u0303o  Paulo', 'SP'],
  ['Pará', 'PA'],
  ['Paraná', 'PR'],
  ['Paraíba', 'PB'],
  ['espírito-santo', 'ES'],
  ['Distrito Federal', 'DF'],
  ['Mato Grosso do Sul', 'MS'],
  ['ny', 'NY'],
  ['Buenos Aires', 'Buenos Aires'],
  ['S.P.', 'S.P.'],
  ['constructor', 'constructor'],
])('%j becomes %j', (sent, kept) => {
  expect(readState(sent)).toBe(kept);
});
