import { sampleSubmission } from '@leadgate/testkit';
import { expect, test } from 'vitest';
import { decodeSpooled, encodeRecord, encodeSpooled, type SpooledSubmission } from './segment.ts';

const spooled: SpooledSubmission = {
  submission: sampleSubmission(1),
  reserved: false,
  idempotency: { key: 'k-1', bodyHash: 'h' },
};

test('a record is read as it was written', () => {
  expect(decodeSpooled(encodeSpooled(spooled))).toEqual(spooled);
  const reserved = { submission: sampleSubmission(2), reserved: true };
  expect(decodeSpooled(encodeSpooled(reserved))).toEqual(reserved);
});

test('a record with any one bit changed, or cut anywhere, is known to be damaged', () => {
  const record = encodeSpooled(spooled);
  for (let at = 0; at < record.length; at++) {
    const changed = Buffer.from(record);
    changed.writeUInt8(changed.readUInt8(at) ^ (1 << (at % 8)), at);
    expect(decodeSpooled(changed)).toBeNull();
    expect(decodeSpooled(record.subarray(0, at))).toBeNull();
  }
});

test('a record is found where other bytes follow it', () => {
  const record = encodeSpooled(spooled);
  expect(decodeSpooled(Buffer.concat([record, record]))).toEqual(spooled);
});

test('what a later version wrote is left for that version', () => {
  const text = JSON.stringify({ v: 2 });
  expect(decodeSpooled(encodeRecord(Buffer.from(text)))).toBeNull();
});
