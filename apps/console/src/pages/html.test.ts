import { expect, test } from 'vitest';
import { html } from './html.ts';

test('no value is read as markup, nor shows as another one by reordering the text around it', () => {
  expect(html`<td>${'<b>"R&D"</b>'}</td>`.text).toBe(
    '<td>&lt;b&gt;&quot;R&amp;D&quot;&lt;/b&gt;</td>',
  );
  expect(html`${'moc.elpmaxe@\u202eana\u2069'}`.text).toBe('moc.elpmaxe@\\u202eana\\u2069');
  // Marks that names are written with stay.
  expect(html`${'שלום\u200f'}`.text).toBe('שלום\u200f');
});
