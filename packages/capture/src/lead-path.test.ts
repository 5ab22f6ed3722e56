import {
  ADDRESS_FIELDS,
  LEAD_FIELDS,
  CLICK_IDS,
  UTM_FIELDS,
  type Consent as ContractConsent,
  type Lead as ContractLead,
} from '@leadgate/contract';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { leadPath, pointerOf } from './lead-path.ts';
import type { Address, Attribution, Consent, Lead } from './lead.ts';

describe('where an input goes, by its name', () => {
  test.each([...LEAD_FIELDS, ...UTM_FIELDS])('every field of the contract: %s', (field) => {
    expect(leadPath(field)).toEqual([field]);
  });

  test.each(CLICK_IDS)('every click id of the contract: %s', (id) => {
    expect(leadPath(id)).toEqual(['attribution', id]);
    expect(leadPath(`attribution[${id}]`)).toEqual(['attribution', id]);
  });

  test.each(ADDRESS_FIELDS)('an address in brackets and with a dot: %s', (field) => {
    expect(leadPath(`address[${field}]`)).toEqual(['address', field]);
    expect(leadPath(`address.${field}`)).toEqual(['address', field]);
  });

  test.each([
    ['utm_source', ['utmSource']],
    ['utm_term', ['utmTerm']],
    ['li_fat_id', ['attribution', 'liFatId']],
    ['utm_id', ['customFields', 'utm_id']],
    ['customFields[plan]', ['customFields', 'plan']],
    ['customFields.plan', ['customFields', 'plan']],
    ['customFields[Renda / mês]', ['customFields', 'Renda / mês']],
    ['customFields[interests][]', ['customFields', 'interests']],
    ['interests[]', ['customFields', 'interests']],
    ['plan', ['customFields', 'plan']],
    ['consent[given]', ['consent', 'given']],
    ['consent.textVersion', ['consent', 'textVersion']],
    ['consent', ['customFields', 'consent']],
    ['cf-turnstile-response', ['customFields', 'cf-turnstile-response']],
    ['Email', ['customFields', 'Email']],
    ['address', ['customFields', 'address']],
  ])('%s', (name, path) => {
    expect(leadPath(name)).toEqual(path);
  });

  test.each([
    '',
    '[]',
    '_token',
    '_gotcha',
    '__proto__',
    'csrfmiddlewaretoken',
    'authenticity_token',
    'password',
    'senha',
  ])('never anywhere: %j', (name) => {
    expect(leadPath(name)).toBeUndefined();
  });
});

test('a pointer escapes what its steps hold', () => {
  expect(pointerOf(['customFields', 'a/b~c'])).toBe('/customFields/a~1b~0c');
});

test('a lead of the service is one of the snippet’s, field by field', () => {
  // Other keys are told from custom fields by the service.
  expectTypeOf<Exclude<keyof Lead, 'consent'>>().toEqualTypeOf<
    Exclude<keyof ContractLead, 'otherKeys'>
  >();
  expectTypeOf<keyof Consent>().toEqualTypeOf<keyof ContractConsent>();
  expectTypeOf<keyof Attribution>().toEqualTypeOf<keyof NonNullable<ContractLead['attribution']>>();
  expectTypeOf<keyof Address>().toEqualTypeOf<keyof NonNullable<ContractLead['address']>>();
});
