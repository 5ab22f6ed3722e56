import { createCipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { Keyring, sealedIn } from './secrets.ts';

const OLD = 'the old key of the tests, long enough';
const NEW = 'the new key of the tests, long enough';

test('a secret is read under the key that encrypted it, while another one encrypts', () => {
  const before = new Keyring(OLD).seal('s3cret');
  const both = new Keyring(NEW, { before: OLD });
  expect(both.open(before).toString()).toBe('s3cret');
  expect(both.isNew(before)).toBe(false);
  const after = both.seal('s3cret');
  expect(both.isNew(after)).toBe(true);
  expect(new Keyring(NEW).open(after).toString()).toBe('s3cret');
  expect(() => new Keyring(NEW).open(before)).toThrow(/not known here/);
  expect(() => new Keyring(OLD).open(after)).toThrow(/not known here/);
  expect(new Keyring(OLD).id).not.toBe(both.id);
});

test('nothing that was changed is read: no bit of id, nonce, tag or text', () => {
  const keyring = new Keyring(NEW, { before: OLD });
  const sealed = keyring.seal('s3cret');
  for (let at = 0; at < sealed.length; at++) {
    const changed = sealed.slice();
    changed.set([(changed[at] ?? 0) ^ 1], at);
    expect(() => keyring.open(changed)).toThrow();
  }
  for (let length = 0; length < sealed.length; length++)
    expect(() => keyring.open(sealed.subarray(0, length))).toThrow();
});

test('the same secret is encrypted otherwise each time, and is not in it', () => {
  const keyring = new Keyring(NEW);
  const [a, b] = [keyring.sealText('s3cret'), keyring.sealText('s3cret')];
  expect(a).not.toBe(b);
  expect(Buffer.from(sealedIn(a) ?? []).toString('latin1')).not.toContain('s3cret');
  expect(keyring.openText(a)).toBe('s3cret');
  expect(keyring.openText('plain, of before')).toBe('plain, of before');
});

test.each([
  ['leadgate endpoint', OLD],
  ['leadgate second factor', 'the secret that signs cookies'],
])('what was encrypted before keys had ids is read: %s', (what, secret) => {
  const nonce = randomBytes(12);
  const key = Buffer.from(hkdfSync('sha256', secret, '', what, 32));
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  const text = Buffer.concat([cipher.update('s3cret'), cipher.final()]);
  const sealed = Buffer.concat([nonce, cipher.getAuthTag(), text]);
  const keyring = new Keyring(NEW, { before: OLD, consoleSecret: 'the secret that signs cookies' });
  expect(keyring.open(sealed).toString()).toBe('s3cret');
  expect(keyring.isNew(sealed)).toBe(false);
});
