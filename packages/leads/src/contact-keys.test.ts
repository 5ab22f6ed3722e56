import { expect, test } from 'vitest';
import { contactKeys } from './contact-keys.ts';

const workspaces = [
  { id: 'brazil', country: 'BR' },
  { id: 'portugal', country: 'PT' },
];
const find = (contact: Parameters<typeof contactKeys>[0], where = workspaces) =>
  contactKeys(contact, where, '2026-11-27');

test('a telephone is looked for under the country of each workspace', () => {
  expect(find({ telephone: '(11) 98765-4321' })).toMatchObject({
    telephone: '11987654321',
    identities: [
      { workspaceId: 'brazil', key: 'phone:+5511987654321' },
      { workspaceId: 'portugal' },
    ],
  });
});

test('an email is looked for as the receiver would read it', () => {
  expect(find({ email: ' Ana@Example.COM ' })?.identities).toContainEqual({
    workspaceId: 'brazil',
    key: 'email:ana@example.com',
  });
});

test.each([{ email: 'ana@' }, { email: '' }, { telephone: '123' }, { telephone: 'ana' }])(
  'half a contact is none: %o',
  (contact) => {
    expect(find(contact)).toBeNull();
  },
);

test('where there is no workspace there is nothing to find', () => {
  expect(find({ email: 'ana@example.com' }, [])).toBeNull();
});
