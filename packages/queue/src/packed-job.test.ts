import { encodeApplyJob } from '@leadgate/contract';
import { sampleSubmission } from '@leadgate/testkit';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { packJob, unpackJob } from './packed-job.ts';

const job = encodeApplyJob(sampleSubmission());

test('any body comes out of Redis as it went in', () => {
  const bodies = fc.oneof(fc.json(), fc.string({ unit: 'grapheme', maxLength: 2_000 }));
  fc.assert(
    fc.property(bodies, (body) => {
      expect(unpackJob(packJob({ ...job, b: body }))).toEqual({ ...job, b: body });
    }),
  );
});

test('the largest body the receiver takes can be packed and unpacked', () => {
  const large = { ...job, b: 'x'.repeat(65_536) };
  expect(unpackJob(packJob(large))).toEqual(large);
});

test.each([null, {}, { z: 2, d: '' }, { z: 1 }, { z: 1, d: '!' }, { z: 1, d: 'AAAA' }, 'text'])(
  'what was not packed here (%j) is refused',
  (data) => {
    expect(() => unpackJob(data)).toThrow();
  },
);

test('bytes that unpack to far more than any payload are refused', () => {
  const bomb = packJob({ ...job, b: 'x'.repeat(5_000_000) });
  expect(() => unpackJob(bomb)).toThrow();
});

test('the dictionary is the one that jobs in Redis were packed with', () => {
  // Packed by the first version: where this fails, every waiting lead would be lost.
  expect(unpackJob({ z: 1, d: PACKED })).toEqual({
    v: 1,
    id: 'a',
    b: '{"name":"Ana","city":"São Paulo"}',
    n: [],
  });
});

const PACKED = 'Q0mgiUqY6ckxLxF3tIMcByrhYmsB';
