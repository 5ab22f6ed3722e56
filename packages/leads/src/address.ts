import { ADDRESS_FIELDS, type AddressField, type Lead } from '@leadgate/contract';
import type { Findings } from './findings.ts';
import { isJsonObject, own } from './json-object.ts';
import { jsonPointer } from './json-pointer.ts';
import { isBlank, readText, readTextOrInteger } from './read-text.ts';
import { NOT_AN_OBJECT } from './refusal.ts';

const KNOWN = new Set<string>(ADDRESS_FIELDS);
const NUMERIC = new Set<AddressField>(['number', 'zipCode']);

/** The address of a body, subfield by subfield; absent where nothing of it was sent. */
export function readAddress(value: unknown, findings: Findings): Lead['address'] {
  if (isBlank(value)) return undefined;
  if (!isJsonObject(value)) {
    findings.refuse(NOT_AN_OBJECT, '/address');
    return undefined;
  }
  const address: NonNullable<Lead['address']> = {};
  let isEmpty = true;
  for (const field of ADDRESS_FIELDS) {
    const read = NUMERIC.has(field) ? readTextOrInteger : readText;
    const text = findings.accept(read(own(value, field)), `/address/${field}`);
    if (text === undefined) continue;
    address[field] = text;
    isEmpty = false;
  }
  for (const key of Object.keys(value))
    if (!KNOWN.has(key)) findings.unknownKey(() => jsonPointer('address', key));
  return isEmpty ? undefined : address;
}
