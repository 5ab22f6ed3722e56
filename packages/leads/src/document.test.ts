import { expect, test } from 'vitest';
import { hasRightCheckDigits, readDocument } from './values.ts';

test.each([
  ['529.982.247-25', '52998224725'],
  [' 529 982 247/25', '52998224725'],
  ['11.222.333/0001-81', '11222333000181'],
  ['12.abc.345/01de-35', '12ABC34501DE35'],
  ['５２９.982.247–25', '52998224725'],
  [1234567890, '01234567890'],
  [52998224725, '52998224725'],
  [191, '00000000191'],
  [112223330001, '00112223330001'],
])('%j is kept as %j', (sent, kept) => {
  expect(readDocument(sent)).toBe(kept);
});

test.each([
  '1234567899',
  'nao informado 00',
  'naoinformado00',
  '12ABC34501DE36',
  '529982247251',
  '529982247AB',
  '2026-11-28',
  'CPF nao informado00',
  'RG 52998224725',
  '12ABC34501DEX5',
  '12ÁBC34501DE35',
  '529_982_247_25',
  123456789012345,
  1.5,
  -1,
])('%j is refused: no length or character of a CPF or CNPJ', (sent) => {
  expect(readDocument(sent)).toMatchObject({ code: 'not-a-document' });
});

test.each(['52998224725', '01234567890', '00000000191', '11222333000181', '12ABC34501DE35'])(
  'the check digits of %s are right',
  (document) => {
    expect(hasRightCheckDigits(document)).toBe(true);
  },
);

test.each([
  '52998224724',
  '52998224735',
  '11222333000180',
  '12ABC34501DE36',
  '12ABD34501DE35',
  '11111111111',
  '00000000000000',
])('the check digits of %s are wrong', (document) => {
  expect(hasRightCheckDigits(document)).toBe(false);
});

test.each([
  ['CPF 123.456.789-09', '12345678909'],
  ['cpf: 529.982.247-25', '52998224725'],
  ['CNPJ 12.ABC.345/01DE-35', '12ABC34501DE35'],
  ['CPF/CNPJ: 11.222.333/0001-81', '11222333000181'],
  ['1234567890', '01234567890'],
  ['52998224725.0', '52998224725'],
  ['CPF nº 529.982.247-25', '52998224725'],
  ['CPF (529.982.247-25)', '52998224725'],
  ['529.982.247-25 (CPF)', '52998224725'],
  ['C.P.F. 529.982.247-25', '52998224725'],
  ['C.N.P.J.: 11.222.333/0001-81', '11222333000181'],
  ['CNPJ/MF 11.222.333/0001-81', '11222333000181'],
  ['0052998224725', '52998224725'],
])('%j is kept as %s', (sent, kept) => {
  expect(readDocument(sent)).toBe(kept);
});
