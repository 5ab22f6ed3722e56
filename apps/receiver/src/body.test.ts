import { describe, expect, test } from 'vitest';
import { readMediaType } from './body.ts';

const read = (type: string, encoding?: string) =>
  readMediaType({ 'content-type': type, 'content-encoding': encoding });

describe('readMediaType', () => {
  test.each([
    ['application/json', 'json'],
    ['application/json; charset=utf-8', 'json'],
    ['Application/JSON;charset=UTF8', 'json'],
    ['application/json; charset="utf-8"', 'json'],
    ['application/json; version=1; charset=UTF-8', 'json'],
    ['text/plain;charset=UTF-8', 'json'],
    ['text/plain', 'json'],
    ['application/x-www-form-urlencoded; charset=UTF-8', 'form'],
  ])('reads %s as %s', (type, expected) => {
    expect(read(type)).toBe(expected);
  });

  test.each([
    'application/json; charset=iso-8859-1',
    'text/plain; charset=utf-16le',
    'text/html',
    'application/xml',
    'application/jsonp',
    'multipart/form-data; boundary=x',
    '',
  ])('does not guess at %j', (type) => {
    expect(read(type)).toBeNull();
  });

  test('refuses a compressed body and takes one that says it is not', () => {
    expect(read('application/json', 'gzip')).toBeNull();
    expect(read('application/json', 'identity, br')).toBeNull();
    expect(read('application/json', ' Identity ')).toBe('json');
    expect(read('application/json', '')).toBe('json');
  });

  test('refuses a body without a type', () => {
    expect(readMediaType({})).toBeNull();
  });
});
