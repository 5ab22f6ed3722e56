import fc from 'fast-check';
import parsePhoneNumber from 'libphonenumber-js/max';
import { describe, expect, test } from 'vitest';
import { type PhoneRules, contactKeys, identityKeys } from './identity.ts';
import { normalizeLead } from './lead.ts';

function read(telephone: unknown, country = 'BR', more: Partial<PhoneRules> = {}) {
  const options = { mode: 'strict' as const, country, dummyPhones: [], today: '2026-07-01' };
  const result = normalizeLead({ telephone }, { ...options, ...more });
  if (result.kind === 'refused') throw new Error(JSON.stringify(result.errors));
  return result;
}

function phoneOf(telephone: unknown, country?: string, dummyPhones: string[] = []) {
  const { identities, notes } = read(telephone, country, { dummyPhones });
  return identities[0] ?? notes.at(-1)?.code;
}

describe('one phone, however it is written', () => {
  test.each([
    '031 8888-0006',
    '(31) 8888-0006',
    '31 98888-0006',
    '031 98888-0006',
    '+55 31 98888-0006',
    '+55 31 8888-0006',
    '+55 (0) 31 98888-0006',
    '+55 031 98888-0006',
    '+31 98888-0006',
    '5531988880006',
    '553188880006',
    '55031988880006',
    '0055 31 98888-0006',
    '+0055 31 98888-0006',
    '0 41 31 98888-0006',
    '0 41 31 8888-0006',
    '０３１ ９８８８８－０００６',
    5531988880006,
    3188880006,
  ])('%j is +5531988880006', (sent) => {
    expect(phoneOf(sent)).toBe('phone:+5531988880006');
  });

  test('a landline keeps its eight digits', () => {
    expect(phoneOf('(31) 3333-4445')).toBe('phone:+553133334445');
    expect(phoneOf('031 3333-4445')).toBe('phone:+553133334445');
  });

  test('area code 55 is not taken for the country code', () => {
    expect(phoneOf('55 99999-8888')).toBe('phone:+5555999998888');
    expect(phoneOf('55 9999-8888')).toBe('phone:+5555999998888');
    expect(phoneOf('55 55 99999-8888')).toBe('phone:+5555999998888');
  });

  test('every Brazilian mobile number has one key in all its forms', () => {
    const area = fc.constantFrom('11', '21', '24', '31', '38', '41', '55', '68', '71', '85', '99');
    const number = fc
      .tuple(fc.integer({ min: 6, max: 9 }), fc.integer({ min: 0, max: 9_999_999 }))
      .map(([first, rest]) => `${first}${String(rest).padStart(7, '0')}`)
      .filter((digits) => !/^(\d)\1*$/.test(digits));
    fc.assert(
      fc.property(area, number, (ddd, old) => {
        const forms = [`${ddd}${old}`, `${ddd}9${old}`].flatMap((n) => [
          n,
          `0${n}`,
          `+55${n}`,
          `55${n}`,
          `0055${n}`,
        ]);
        for (const form of forms) expect(phoneOf(form)).toBe(`phone:+55${ddd}9${old}`);
      }),
    );
  });
});

describe('numbers of other countries', () => {
  test('an American number without + is not taken for a Brazilian one', () => {
    expect(phoneOf('+1 (212) 555-0123')).toBe('phone:+12125550123');
    expect(phoneOf('1 212 555 0123')).toBe('phone:+12125550123');
  });

  test.each([
    ['+351 912 345 678', 'BR', 'phone:+351912345678'],
    ['351912345678', 'BR', 'phone:+351912345678'],
    ['912 345 678', 'PT', 'phone:+351912345678'],
    ['(212) 555-0123', 'US', 'phone:+12125550123'],
    ['11 98765-4321', 'PT', 'phone:11987654321'],
    ['+55 11 8765-4321', 'PT', 'phone:+5511987654321'],
  ])('%j in %s is %s', (sent, country, key) => {
    expect(phoneOf(sent, country)).toBe(key);
  });

  test('a country that does not exist leaves international numbers as they are', () => {
    expect(phoneOf('+55 11 98765-4321', 'XX')).toBe('phone:+5511987654321');
    expect(phoneOf('11 98765-4321', '')).toBe('phone:11987654321');
  });
});

test('what is no valid number is its digits, with or without a +', () => {
  expect(phoneOf('20 1234-5670')).toBe('phone:2012345670');
  expect(phoneOf('+99 1234 5670')).toBe('phone:9912345670');
  expect(phoneOf('8888-0006')).toBe('phone:88880006');
});

describe('phones that no person has', () => {
  test.each([
    ['11 99999-9999', 'repeated'],
    ['11 9999-9999', 'repeated'],
    ['+55 11 99999-9999', 'repeated'],
    ['11 90000-0000', 'repeated'],
    ['11 0000-0000', 'repeated, impossible'],
    ['(00) 00000-0000', 'repeated, impossible'],
    ['00000000', 'repeated, impossible'],
    ['99999999999', 'repeated'],
    ['10 99999-9999', 'repeated, impossible'],
    ['+1 212 555-5555', 'repeated'],
    ['+351 999 999 999', 'repeated, impossible'],
    ['12345678', 'impossible'],
    ['8888-0006', 'impossible'],
  ])('%j is a key, noted as %s, and no key once its class identifies nobody', (sent, detail) => {
    const note = { field: '/telephone', code: 'placeholder-phone', detail };
    const asSent = read(sent);
    expect(asSent.identities).toHaveLength(1);
    expect(asSent.notes).toEqual([note]);
    for (const name of ['repeated', 'impossible'] as const) {
      const ruled = read(sent, 'BR', { dummyClasses: [name] });
      expect(ruled.lead).toEqual(asSent.lead);
      expect(ruled.identities).toEqual(detail.includes(name) ? [] : asSent.identities);
      expect(ruled.notes[0]).toEqual(note);
      expect(ruled.notes.slice(1).map(({ code }) => code)).toEqual(
        detail.includes(name) ? ['dummy-phone'] : [],
      );
    }
  });

  test('by default the same number is the same lead, whatever the number', () => {
    const digits = fc.stringMatching(/^\d{8,15}$/);
    fc.assert(
      fc.property(digits, (number) => {
        expect(read(number).identities).toEqual(read(number).identities);
        expect(read(number).identities).toHaveLength(1);
      }),
    );
  });

  test('a number with a few digits repeated is a number', () => {
    expect(phoneOf('11 99999-9998')).toBe('phone:+5511999999998');
    expect(phoneOf('11 90000-0001')).toBe('phone:+5511900000001');
  });

  test('a phone on the list of the workspace, in whatever form it stands there', () => {
    for (const entry of ['+5511912345678', '11 91234-5678', '(11) 1234-5678 ', '011 912345678'])
      expect(phoneOf('11912345678', 'BR', [entry])).toBe(
        entry.includes('(') ? 'phone:+5511912345678' : 'dummy-phone',
      );
    expect(phoneOf('8888-0006', 'BR', ['88880006'])).toBe('dummy-phone');
  });

  test('one list serves workspaces of two countries', () => {
    const list = ['912 345 678'];
    expect(phoneOf('+351 912 345 678', 'BR', list)).toBe('phone:+351912345678');
    expect(phoneOf('+351 912 345 678', 'PT', list)).toBe('dummy-phone');
  });
});

test('keys are of a lead as stored: email first, none for what it does not have', () => {
  const options = { country: 'BR', dummyPhones: [] };
  expect(identityKeys({ telephone: '11987654321', email: 'a@example.com' }, options)).toEqual({
    keys: ['email:a@example.com', 'phone:+5511987654321'],
    notes: [],
  });
  expect(identityKeys({ name: 'Ana' }, options)).toEqual({ keys: [], notes: [] });
});

const workspaces = [
  { id: 'brazil', country: 'BR' },
  { id: 'portugal', country: 'PT' },
];
const find = (contact: Parameters<typeof contactKeys>[0], where = workspaces) =>
  contactKeys(contact, where);

test('a telephone is looked for under the country of each workspace', () => {
  expect(find({ telephone: '(11) 98765-4321' })).toMatchObject({
    telephone: '11987654321',
    identities: [
      { workspaceId: 'brazil', key: 'phone:+5511987654321' },
      { workspaceId: 'portugal' },
    ],
  });
});

test('an email is looked for as the receiver would read it', () => {
  expect(find({ email: ' Ana@Example.COM ' })?.identities).toContainEqual({
    workspaceId: 'brazil',
    key: 'email:ana@example.com',
  });
});

test.each([{ email: 'ana@' }, { email: '' }, { telephone: '123' }, { telephone: 'ana' }])(
  'half a contact is none: %o',
  (contact) => {
    expect(find(contact)).toBeNull();
  },
);

test('where there is no workspace there is nothing to find', () => {
  expect(find({ email: 'ana@example.com' }, [])).toBeNull();
});

describe('marks of a country that are no part of a number', () => {
  test.each([
    ['AR', ['+54 9 11 2345-6789', '+54 11 2345-6789', '011 15 2345-6789', '011 2345-6789']],
    ['CL', ['+56 9 8765 4321', '+56 09 8765 4321', '9 8765 4321', '09 8765 4321']],
    ['AR', ['+54 9 351 234-5678', '+54 351 234-5678', '0351 15 234-5678']],
    [
      'MX',
      [
        '+52 1 55 1234 5678',
        '+52 55 1234 5678',
        '044 55 1234 5678',
        '045 55 1234 5678',
        '01 55 1234 5678',
        '55 1234 5678',
      ],
    ],
  ])('%s: %j are one', (country, forms) => {
    expect(new Set(forms.map((form) => phoneOf(form, country))).size).toBe(1);
  });

  const areas = {
    AR: ['11', '221', '223', '261', '341', '351', '381', '2966', '3541'],
    MX: ['55', '33', '81', '222', '664', '998'],
  };
  const formsOf = {
    AR: (area: string, local: string) => [
      `+54 9 ${area} ${local}`,
      `+54 ${area} ${local}`,
      `0${area} 15 ${local}`,
      `0${area} ${local}`,
      `${area} ${local}`,
    ],
    MX: (area: string, local: string) => [
      `+52 1 ${area} ${local}`,
      `+52 ${area} ${local}`,
      `0052 1 ${area} ${local}`,
      `01 ${area} ${local}`,
      `044 ${area} ${local}`,
      `045 ${area} ${local}`,
      `${area} ${local}`,
    ],
  };

  test.each(['AR', 'MX'] as const)(
    '%s: every number that libphonenumber knows has one key, in whatever form it is written',
    (country) => {
      const digits = fc.stringMatching(/^[2-9]\d{9}$/);
      fc.assert(
        fc.property(fc.constantFrom(...areas[country]), digits, (area, subscriber) => {
          const local = subscriber.slice(0, 10 - area.length);
          fc.pre(parsePhoneNumber(`${area}${local}`, country)?.isValid() === true);
          const keys = formsOf[country](area, local).map((form) => phoneOf(form, country));
          const code = { AR: '+54', MX: '+52' }[country];
          expect(new Set(keys)).toEqual(new Set([`phone:${code}${area}${local}`]));
        }),
      );
    },
  );
});
