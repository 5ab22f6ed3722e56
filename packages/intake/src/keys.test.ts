import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { identityRef } from './keys.ts';

test('an identity stands where receivers and workers of every release look for it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (key) => {
      const digest = createHash('sha256').update(key).digest();
      expect(identityRef(key)).toEqual({
        bucket: digest.toString('hex', 0, 2),
        field: digest.toString('base64url', 2, 16),
      });
    }),
  );
});
