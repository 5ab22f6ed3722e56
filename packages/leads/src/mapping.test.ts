import type { LinkMapping } from '@leadgate/contract';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mapBody, mappingFaults } from './mapping.ts';
import { readLead, type ReadingRules } from './lead.ts';
import { PRESETS, PRESET_NAMES } from './presets.ts';

const mapping = (rules: LinkMapping['rules']): LinkMapping => ({ preset: null, rules });
const map = (rules: LinkMapping['rules'], body: unknown) => mapBody(body, mapping(rules));

const rulesOf: ReadingRules = {
  ...{ linkId: 'link', country: 'BR', dummyPhones: [] },
  ...{ mode: 'strict', requireIdentity: true },
};
const now = Date.UTC(2026, 10, 28);
function read(preset: keyof typeof PRESETS, body: unknown) {
  return readLead(map(PRESETS[preset], body), rulesOf, { lenient: false, now });
}

describe('a preset reads what its sender documents:', () => {
  test('Google’s lead form', () => {
    const answer = (columnId: string, string_value: string) => ({
      column_name: columnId,
      string_value,
      column_id: columnId,
    });
    const body = {
      lead_id: 'TeSter-123',
      user_column_data: [
        answer('FULL_NAME', 'Joana Prado'),
        answer('PHONE_NUMBER', '+5511987650001'),
        answer('EMAIL', 'joana@example.com'),
        answer('CITY', 'Recife'),
        answer('POSTAL_CODE', '50000-000'),
      ],
      api_version: '1.0',
      form_id: 40000000000,
      campaign_id: 123456,
      gcl_id: 'Cj0-test-1',
      adgroup_id: 20000000000,
      creative_id: 30000000000,
    };
    expect(read('google-lead-form', body)).toMatchObject({
      kind: 'read',
      lead: {
        ...{ name: 'Joana Prado', email: 'joana@example.com', telephone: '5511987650001' },
        ...{ city: 'Recife', address: { zipCode: '50000-000' } },
        attribution: { gclid: 'Cj0-test-1' },
      },
      notes: [],
    });
  });

  test('Typeform', () => {
    const field = { id: 'SMEUb7VJz92Q', type: 'email', ref: 'readable_ref_email' };
    const body = {
      event_id: 'LtWXD3crgy',
      event_type: 'form_response',
      form_response: {
        form_id: 'lT4Z3j',
        hidden: { gclid: 'g-1', utm_source: 'google' },
        answers: [
          { type: 'text', text: 'It is cold right now', field: { ...field, type: 'long_text' } },
          { type: 'email', email: 'laura@example.com', field },
          { type: 'phone_number', phone_number: '+5511987650002', field },
        ],
      },
    };
    expect(read('typeform', body)).toMatchObject({
      kind: 'read',
      lead: {
        ...{ email: 'laura@example.com', telephone: '5511987650002', utmSource: 'google' },
        attribution: { gclid: 'g-1' },
      },
    });
  });

  test('Webflow, in English and in Portuguese', () => {
    const form = (data: object) => ({
      triggerType: 'form_submission',
      payload: { name: 'Contact Us', siteId: '65427cf400e02b306eaa049c', data },
    });
    const english = {
      'First Name': 'Zoe',
      'Last Name': 'Lima',
      email: 'zoe@example.com',
      'Phone Number': 5511987650003,
    };
    const lead = { name: 'Zoe Lima', email: 'zoe@example.com', telephone: '5511987650003' };
    expect(read('webflow', form(english))).toMatchObject({ kind: 'read', lead });
    const portuguese = {
      'Nome completo': 'Zoe Lima',
      'E-mail': lead.email,
      WhatsApp: '11 98765-0003',
    };
    expect(read('webflow', form(portuguese))).toMatchObject({
      lead: { ...lead, telephone: '11987650003' },
    });
  });

  test.each(PRESET_NAMES)('%s is a mapping that a link may have', (name) => {
    expect(mappingFaults(mapping(PRESETS[name]))).toEqual([]);
  });
});

describe('a mapping', () => {
  test('takes the first query that finds something, and leaves out what none does', () => {
    const rules = {
      email: ['$.a', '$.b[*].mail'],
      name: ['$.none'],
      'address.city': ['$.city'],
      'customFields.Renda / mês': ['$.income'],
    };
    expect(
      map(rules, { a: ' ', b: [{}, { mail: 'x@example.com' }], city: 'Recife', income: 0 }),
    ).toEqual({
      email: 'x@example.com',
      address: { city: 'Recife' },
      customFields: { 'Renda / mês': 0 },
    });
    expect(map(rules, 'text')).toBe('text');
  });

  test('reaches no prototype, of what it reads or of what it makes', () => {
    const rules = { name: ['$.__proto__.x', '$.toString'], 'customFields.__proto__': ['$.a'] };
    const mapped = map(rules, { a: { admin: true } }) as { customFields: object };
    expect(Object.keys(mapped)).toEqual(['customFields']);
    expect(Object.keys(mapped.customFields)).toEqual(['__proto__']);
    expect(Reflect.get({}, 'admin')).toBeUndefined();
  });

  test('of anything gives a lead’s fields or nothing, and never throws', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (body) => {
        for (const name of PRESET_NAMES) mapBody(body, mapping(PRESETS[name]));
      }),
    );
  });

  test('is not held up by a hostile body: 64 KiB of any nesting', () => {
    const rules = { ...PRESETS.typeform, city: ['$..mail', '$[?@.a].b', '$.*[?@.x == 1].y'] };
    const bodies: unknown[] = [
      JSON.parse('['.repeat(32_000) + ']'.repeat(32_000)),
      JSON.parse(`${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`),
      Array.from({ length: 20_000 }, () => [[]]),
      { form_response: { answers: Array.from({ length: 5_000 }, () => ({ type: 'text' })) } },
    ];
    const start = performance.now();
    for (const body of bodies) mapBody(body, mapping(rules));
    expect(performance.now() - start).toBeLessThan(2_000);
  });

  test.each([
    [{ emial: ['$.a'] }, '/mapping/rules/emial'],
    [{ email: ['a.b'] }, '/mapping/rules/email'],
    [{ email: ['$.a['] }, '/mapping/rules/email'],
    [{ email: ["$[?match(@.a, 'x')]"] }, '/mapping/rules/email'],
    [{ email: ['$..a..b'] }, '/mapping/rules/email'],
    [{ email: ['$[?$.a == 1]'] }, '/mapping/rules/email'],
    [{ 'address.planet': ['$.a'] }, '/mapping/rules/address.planet'],
    [{ 'customFields. ': ['$.a'] }, '/mapping/rules/customFields. '],
  ])('with %j is refused', (rules, pointer) => {
    expect(mappingFaults(mapping(rules)).map((error) => error.pointer)).toEqual([pointer]);
  });

  test('may have what looks like more in its quotes', () => {
    expect(mappingFaults(mapping({ email: ["$['a..b..c?$?']"] }))).toEqual([]);
  });
});
