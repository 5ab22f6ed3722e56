import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PACKED_LENGTH, packedTime, packUuid, unpackUuid } from './submission.ts';

test('a packed UUID is its bytes in base64url, and no other text is packed', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
      const hex = Buffer.from(bytes).toString('hex');
      const uuid = hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
      const packed = packUuid(uuid);
      expect(packed).toBe(Buffer.from(bytes).toString('base64url'));
      expect(packed).toHaveLength(PACKED_LENGTH);
      expect(unpackUuid(packed)).toBe(uuid);
      expect(packedTime(`, ${packed}`, 2)).toBe(Number.parseInt(hex.slice(0, 12), 16));
    }),
  );
  for (const text of [
    '',
    '0197b3f0-0000-7000-8000-00000000000',
    '0197B3F0-0000-7000-8000-000000000001',
  ])
    expect(() => packUuid(text)).toThrow(TypeError);
  for (const text of [
    '',
    'A'.repeat(21),
    'A'.repeat(23),
    `${'A'.repeat(21)}+`,
    `${'A'.repeat(21)}é`,
  ])
    expect(() => unpackUuid(text)).toThrow(TypeError);
});
