import { expect, test } from 'vitest';
import { readInstagram } from './instagram.ts';

test.each([
  ['@ana.souza', 'ana.souza'],
  ['@@ana', 'ana'],
  ['@ ana', 'ana'],
  ['Ana_Souza', 'Ana_Souza'],
  ['https://www.instagram.com/ana/?hl=pt-br', 'ana'],
  ['HTTP://Instagram.com/ana#top', 'ana'],
  ['instagram.com/@ana', 'ana'],
  ['m.instagram.com/_u/ana/', 'ana'],
  ['\u200b@ana', 'ana'],
  ['https://www.instagram.com/p/Cxyz/', 'https://www.instagram.com/p/Cxyz/'],
  ['notinstagram.com/ana', 'notinstagram.com/ana'],
  ['p', 'p'],
])('%j becomes %j', (sent, handle) => {
  expect(readInstagram(sent)).toBe(handle);
});

test('an address without a handle says nothing', () => {
  for (const sent of ['@', 'https://instagram.com/', 'instagram.com', 'instagram.com/?x'])
    expect(readInstagram(sent)).toBeUndefined();
});
