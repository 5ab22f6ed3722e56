import { expect, test } from 'vitest';
import { pairs, table } from './table.ts';

test('every row is one line with as many columns as the head, whatever is in the cells', () => {
  const text = table(
    ['name', 'note'],
    [
      ['Ana\nSouza', 'x'],
      [null, ''],
      ['日本', 'wide'],
    ],
  );
  expect(text).toBe('NAME        NOTE\nAna\\nSouza  x\n-           -\n日本        wide\n');
});

test('a cell cannot colour or move what is around it', () => {
  expect(table(['a'], [['\u001b[31mred']])).not.toContain('\u001b');
  expect(pairs([['Name', '\u001b[31mred']])).not.toContain('\u001b');
});
