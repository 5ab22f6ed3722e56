import { ADDRESS_FIELDS, type AddressField, type Lead } from '@leadgate/contract';
import {
  type Findings,
  NOT_AN_OBJECT,
  type Reading,
  isBlank,
  isJsonObject,
  isMask,
  own,
  readText,
  readTextOrInteger,
  withoutEntities,
} from './reading.ts';
import { normalized } from './text.ts';

const KNOWN = new Set<string>(ADDRESS_FIELDS);

export const isAddressKey = (key: string): boolean => KNOWN.has(key);
const NUMERIC = new Set<AddressField>(['number', 'zipCode']);

/** The address of a body, subfield by subfield; absent if nothing of it was sent. */
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
    const sent = own(value, field);
    const plain = withoutEntities(sent);
    if (plain !== sent) findings.note(`/address/${field}`, 'html-entities');
    const text = findings.accept(read(plain), `/address/${field}`);
    if (text === undefined || isMask(text)) continue;
    address[field] = text;
    isEmpty = false;
  }
  for (const key of Object.keys(value)) if (!KNOWN.has(key)) findings.unknownKey(key, 'address');
  return isEmpty ? undefined : address;
}

/** Names of Brazil's states and federal district, folded as `fold` does, to their UF (IBGE). */
const UF_BY_NAME = new Map([
  ['acre', 'AC'],
  ['alagoas', 'AL'],
  ['amapa', 'AP'],
  ['amazonas', 'AM'],
  ['bahia', 'BA'],
  ['ceara', 'CE'],
  ['distrito federal', 'DF'],
  ['espirito santo', 'ES'],
  ['goias', 'GO'],
  ['maranhao', 'MA'],
  ['mato grosso', 'MT'],
  ['mato grosso do sul', 'MS'],
  ['minas gerais', 'MG'],
  ['para', 'PA'],
  ['paraiba', 'PB'],
  ['parana', 'PR'],
  ['pernambuco', 'PE'],
  ['piaui', 'PI'],
  ['rio de janeiro', 'RJ'],
  ['rio grande do norte', 'RN'],
  ['rio grande do sul', 'RS'],
  ['rondonia', 'RO'],
  ['roraima', 'RR'],
  ['santa catarina', 'SC'],
  ['sao paulo', 'SP'],
  ['sergipe', 'SE'],
  ['tocantins', 'TO'],
]);

const ACCENTS = /\p{M}+/gu;
const GAPS = /[\s-]+/g;
const fold = (name: string) =>
  normalized(name, 'NFD').replace(ACCENTS, '').replace(GAPS, ' ').toLowerCase();

/**
 * A state: two letters in upper case; the name of a Brazilian state, in any case, with or without
 * accents, as its UF, whatever the workspace's country; anything else as it is.
 */
export function readState(value: unknown): Reading {
  const text = readText(value);
  if (typeof text !== 'string') return text;
  if (/^[a-z]{2}$/i.test(text)) return text.toUpperCase();
  return UF_BY_NAME.get(fold(text)) ?? text;
}
