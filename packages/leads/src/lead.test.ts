import { ADDRESS_FIELDS, LEAD_FIELDS, Lead, UTM_FIELDS } from '@leadgate/contract';
import fc from 'fast-check';
import { Compile } from 'typebox/compile';
import { describe, expect, test } from 'vitest';
import { type NormalizeOptions, normalizeLead, readInstagram, soleItem } from './lead.ts';

const strict: NormalizeOptions = {
  mode: 'strict',
  country: 'BR',
  dummyPhones: [],
  today: '2026-07-01',
};
const lenient: NormalizeOptions = { ...strict, mode: 'lenient' };

function accept(body: unknown, options = strict) {
  const result = normalizeLead(body, options);
  if (result.kind !== 'accepted') throw new Error(JSON.stringify(result.errors));
  return result;
}

function refuse(body: unknown, options = strict) {
  const result = normalizeLead(body, options);
  if (result.kind !== 'refused') throw new Error('accepted');
  return result.errors;
}

const pointers = (body: unknown) => refuse(body).map((error) => error.pointer);

describe('what counts as not sent', () => {
  test('an empty body is accepted and identifies nobody', () => {
    expect(accept({})).toEqual({ kind: 'accepted', lead: {}, identities: [], notes: [] });
  });

  test('null, empty and blank values are absent at every depth, never "null" and never ""', () => {
    const blank = (fields: readonly string[]) =>
      Object.fromEntries(
        fields.map((field, i) => [field, [null, '', ' \t\n', '\u00a0\u200b'][i % 4]]),
      );
    const body = {
      ...blank(LEAD_FIELDS),
      ...blank(UTM_FIELDS),
      address: blank(ADDRESS_FIELDS),
      customFields: { a: null, b: '', c: '  ', d: [], e: [null, ' '] },
    };
    expect(accept(body)).toEqual({ kind: 'accepted', lead: {}, identities: [], notes: [] });
  });

  test('an address or custom fields sent as null or blank text are absent, not malformed', () => {
    expect(accept({ address: null, customFields: '' }).lead).toEqual({});
    expect(accept({ address: ' ', customFields: null }).lead).toEqual({});
    expect(accept({ address: {}, customFields: {} }).lead).toEqual({});
  });

  test('a blank email beside a phone is no identity (twentyhq/twenty#16270)', () => {
    const first = accept({ email: '', telephone: '11900000003' });
    const second = accept({ email: '', telephone: '11900000004' });
    expect(first.identities).toEqual(['phone:+5511900000003']);
    expect(second.identities).toEqual(['phone:+5511900000004']);
  });

  test('blank and null on a known lead leave name and city out (Automattic/jetpack-crm#31)', () => {
    expect(accept({ email: 'ana@example.com', name: '', city: null }).lead).toEqual({
      email: 'ana@example.com',
    });
  });

  test('null for a text field is absent (fastify/fastify#5367)', () => {
    expect(accept({ email: 'ana@example.com', name: null }).lead).not.toHaveProperty('name');
  });

  test('0 and false are values of a custom field', () => {
    expect(accept({ customFields: { a: 0, b: false } }).lead.customFields).toEqual({
      a: 0,
      b: false,
    });
  });
});

describe('public cases', () => {
  test('a number for a telephone is its digits (fastify/fastify#497)', () => {
    const { lead } = accept({ telephone: 5511900000004, email: 'n@example.com' });
    expect(lead.telephone).toBe('5511900000004');
  });

  test('a number for a name is refused (fastify/fastify#497)', () => {
    expect(refuse({ email: 'n2@example.com', name: 123 })).toEqual([
      { pointer: '/name', code: 'not-text', detail: 'Send text.' },
    ]);
  });

  const hitobito = { email: 'ana@example.com', telephone: 'abc', birthday: '31/02/1981' };

  test('every bad field is named at once (hitobito/hitobito#4147)', () => {
    expect(refuse(hitobito).map(({ pointer, code }) => [pointer, code])).toEqual([
      ['/telephone', 'not-a-telephone'],
      ['/birthday', 'not-a-birthday'],
    ]);
  });

  test('lenient sets bad fields aside with a note and keeps the rest (hitobito/hitobito#4147)', () => {
    const { lead, identities, notes } = accept(hitobito, lenient);
    expect(lead).toEqual({ email: 'ana@example.com' });
    expect(identities).toEqual(['email:ana@example.com']);
    expect(notes.map(({ field, code }) => [field, code])).toEqual([
      ['/telephone', 'set-aside'],
      ['/birthday', 'set-aside'],
    ]);
  });

  test('a CPF that lost its zero as a number has it again (VitorLuizC/brazilian-values#42)', () => {
    const { lead, notes } = accept({ email: 'ana@example.com', document: 1234567890 });
    expect(lead.document).toBe('01234567890');
    expect(notes).toEqual([]);
  });

  test('a birthday is the day that was sent (terminal42/contao-leads#53)', () => {
    expect(accept({ birthday: '1980-09-27' }).lead.birthday).toBe('1980-09-27');
  });

  test('a state by name is its UF (brazilian-utils/python#396)', () => {
    expect(accept({ state: 'são paulo' }).lead.state).toBe('SP');
  });

  test('a utm value of 20,000 characters is cut with a note (mautic/mautic#11317)', () => {
    const { lead, notes } = accept({ email: 'ana@example.com', utmContent: 'u'.repeat(20_000) });
    expect(lead.utmContent).toBe('u'.repeat(2048));
    expect(notes).toEqual([{ field: '/utmContent', code: 'cut', detail: 'at 2048 characters' }]);
  });

  test('a cut never leaves half an emoji', () => {
    const { lead } = accept({ utmTerm: '🌸'.repeat(3000) });
    expect(lead.utmTerm).toBe('🌸'.repeat(2048));
    expect(accept({ utmTerm: '🌸'.repeat(2048) }).notes).toEqual([]);
    expect(accept({ utmTerm: `${'x'.repeat(2040)}${' '.repeat(20)}y` }).lead.utmTerm).toHaveLength(
      2040,
    );
  });

  test('emoji and right-to-left text stay intact (mautic/mautic#11151)', () => {
    const name = 'Ana 🌸 שלום';
    expect(accept({ email: 'ana@example.com', name }).lead.name).toBe(name);
    const family = 'Ana 👩‍👩‍👧 \u200fשלום';
    expect(accept({ name: family }).lead.name).toBe(family);
  });

  test('a lone surrogate becomes U+FFFD (mastra-ai/mastra#21726)', () => {
    const body: unknown = JSON.parse('{"email":"s@example.com","name":"A\\ud83d"}');
    expect(accept(body).lead.name).toBe('A\ufffd');
  });

  test('emails that differ in case have one key (chatwoot/chatwoot#2553)', () => {
    expect(accept({ email: 'Ana@Example.COM' }).identities).toEqual(
      accept({ email: 'ana@example.com' }).identities,
    );
  });

  test('plus-addressing is kept (sindresorhus/query-string#305)', () => {
    expect(accept({ email: 'ana+x@example.com' }).lead.email).toBe('ana+x@example.com');
  });

  test('trunk zero and country code are one phone (Dolibarr/dolibarr#22377)', () => {
    expect(accept({ telephone: '011 90000-0005' }).identities).toEqual(
      accept({ telephone: '+55 11 90000-0005' }).identities,
    );
  });

  test('the keys of a body are email first (GoHighLevel/highlevel-api-docs#37)', () => {
    expect(accept({ telephone: '11900000002', email: 'ana@example.com' }).identities).toEqual([
      'email:ana@example.com',
      'phone:+5511900000002',
    ]);
  });
});

describe('bodies that are no lead', () => {
  test.each([[[]], ['text'], [1], [null], [true], [undefined], [[{ email: 'a@example.com' }]]])(
    '%j is refused in both modes with the pointer of the whole body',
    (body) => {
      const error = { pointer: '', code: 'not-an-object', detail: 'Send a JSON object.' };
      expect(refuse(body, strict)).toEqual([error]);
      expect(refuse(body, lenient)).toEqual([error]);
    },
  );

  test('a list of one is that one, and of several none is chosen', () => {
    const [one, other] = [{ email: 'a@example.com' }, { email: 'b@example.com' }];
    expect(soleItem([one], {})).toBe(one);
    const error = { pointer: '', code: 'several-leads', detail: 'Send one lead a post.' };
    expect(refuse(soleItem([one, other], {}), lenient)).toEqual([error]);
    const mapping = { preset: null, rules: { email: ['$[0].email'] } };
    expect(soleItem([one], { mapping })).toEqual([one]);
  });

  test('an address or custom fields that are no object are refused by name', () => {
    for (const wrong of [['a'], 'text', 1, true])
      expect(pointers({ address: wrong, customFields: wrong })).toEqual([
        '/address',
        '/customFields',
      ]);
  });

  test('every kind of field can be refused in one answer', () => {
    const long = 'x'.repeat(201);
    expect(
      pointers({
        email: 'ana',
        name: long,
        telephone: '123',
        document: '1',
        profession: {},
        city: [],
        state: long,
        instagram: long,
        birthday: '2026-07-02',
        address: { street: 1, number: 1.5, city: long, zipCode: -1 },
        utmSource: 1,
        customFields: 'x',
      }),
    ).toEqual([
      '/email',
      '/name',
      '/telephone',
      '/document',
      '/profession',
      '/city',
      '/state',
      '/instagram',
      '/birthday',
      '/address/street',
      '/address/number',
      '/address/city',
      '/address/zipCode',
      '/utmSource',
      '/customFields',
    ]);
  });
});

describe('limits', () => {
  test('text is measured in characters, so 200 emoji fit and 201 do not', () => {
    expect(accept({ name: '🌸'.repeat(200) }).lead.name).toHaveLength(400);
    expect(pointers({ name: '🌸'.repeat(201) })).toEqual(['/name']);
  });

  test('a hundred custom fields are taken and one more refuses them as a whole', () => {
    const fields = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, i]));
    expect(accept({ customFields: fields(100) }).lead.customFields).toEqual(fields(100));
    expect(refuse({ customFields: fields(101) }).map(({ code }) => code)).toEqual([
      'too-many-keys',
    ]);
  });

  test('an array of more than a hundred texts and a text that is too long are cut with a note', () => {
    const { lead, notes } = accept({
      customFields: { a: Array(101).fill('x'), b: 'y'.repeat(10_001), c: ['z'.repeat(10_001)] },
    });
    expect(lead.customFields).toEqual({
      a: Array(100).fill('x'),
      b: 'y'.repeat(10_000),
      c: ['z'.repeat(10_000)],
    });
    expect(notes).toEqual([
      { field: '/customFields/a', code: 'cut', detail: 'at 100 items' },
      { field: '/customFields/b', code: 'cut', detail: 'at 10000 characters' },
      { field: '/customFields/c', code: 'cut', detail: 'at 10000 characters' },
    ]);
  });

  test('a body of thousands of unknown keys is summed up after twenty', () => {
    const body = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${i}`, i]));
    const { notes } = accept({ ...body, address: { planet: 'Earth' } });
    expect(notes).toHaveLength(21);
    expect(notes[0]).toEqual({ field: '/address/planet', code: 'unknown-key' });
    expect(notes[20]).toEqual({ field: '', code: 'unknown-key', detail: 'and 4981 more' });
  });
});

describe('custom fields', () => {
  test('a value that no field can take is a note in both modes, and the rest is taken', () => {
    const body: unknown = JSON.parse(
      '{"email":"pp@example.com","customFields":{"a/b~c":{"a":1},"__proto__":{"b":2},"notas":[1,2],"n":1e999,"l":[["x"],"y",null],"o":null,"g":"kept"}}',
    );
    const detail = 'Send text, a number, true or false, or an array of these.';
    for (const mode of [strict, lenient]) {
      const { lead, notes } = accept(body, mode);
      expect(lead).toEqual({
        email: 'pp@example.com',
        customFields: { notas: ['1', '2'], l: ['y'], g: 'kept' },
      });
      expect(notes).toEqual([
        { field: '/customFields/a~1b~0c', code: 'invalid-custom-value', detail },
        { field: '/customFields/__proto__', code: 'invalid-custom-value', detail },
        { field: '/customFields/n', code: 'invalid-custom-value', detail },
        { field: '/customFields/l', code: 'invalid-custom-value', detail },
      ]);
    }
  });

  test('no value under customFields refuses a post, whatever its shape or key', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.oneof(fc.string(), fc.constantFrom('__proto__', 'toString')),
          fc.anything(),
          {
            maxKeys: 100,
          },
        ),
        (customFields) => {
          expect(accept({ customFields }, strict).kind).toBe('accepted');
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('keys that are not fields', () => {
  test('unknown keys are ignored and noted by an escaped pointer', () => {
    expect(accept({ city: 'Recife', 'a/b': 1, 'm~n': 2 }).notes).toEqual([
      { field: '/a~1b', code: 'unknown-key' },
      { field: '/m~0n', code: 'unknown-key' },
    ]);
  });

  test('the idempotency key of a beacon is not an unknown key', () => {
    expect(accept({ _idempotencyKey: 'k-1' }).notes).toEqual([]);
  });

  test('__proto__, constructor and prototype are harmless wherever they stand', () => {
    const inner = '{"__proto__":{"polluted":1},"constructor":{"x":1},"prototype":"y"}';
    const body: unknown = JSON.parse(
      `{"__proto__":{"email":"evil@example.com"},"constructor":1,"prototype":2,"address":${inner}}`,
    );
    const { lead, notes, identities } = accept(body);
    expect(lead).toEqual({});
    expect(identities).toEqual([]);
    expect(notes.map((note) => note.field)).toEqual([
      '/address/__proto__',
      '/address/constructor',
      '/address/prototype',
      '/__proto__',
      '/constructor',
      '/prototype',
    ]);
    expect({}).not.toHaveProperty('polluted');
  });

  test('what a body only inherits was not sent', () => {
    const inherited = { email: 'evil@example.com', address: { city: 'Recife' } };
    expect(accept(Object.create(inherited)).lead).toEqual({});
  });

  test('a custom field may be called __proto__', () => {
    const body: unknown = JSON.parse('{"customFields":{"__proto__":"x","constructor":"y"}}');
    const { customFields = {} } = accept(body).lead;
    expect(Object.entries(customFields)).toEqual([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ]);
    expect(JSON.stringify(customFields)).toBe('{"__proto__":"x","constructor":"y"}');
  });

  test('a key that Postgres could not store matches nothing, and its note can be stored', () => {
    const { lead, notes } = accept({ 'a\0': 1, customFields: { 'b\0': 'x', 'c\ud83d': 'y' } });
    expect(lead).toEqual({});
    expect(notes).toEqual([
      { field: '/customFields/b\ufffd', code: 'unknown-custom-field' },
      { field: '/customFields/c\ufffd', code: 'unknown-custom-field' },
      { field: '/a\ufffd', code: 'unknown-key' },
    ]);
  });
});

describe('fields', () => {
  test('house number and postcode may be integers', () => {
    expect(accept({ address: { number: 12, zipCode: 50_000_000 } }).lead.address).toEqual({
      number: '12',
      zipCode: '50000000',
    });
  });

  test('the state of an address is kept as typed', () => {
    expect(accept({ address: { state: 'Pernambuco' } }).lead.address).toEqual({
      state: 'Pernambuco',
    });
  });

  test('wrong check digits are noted and the document kept', () => {
    const { lead, notes } = accept({ document: '123.456.789-00' });
    expect(lead.document).toBe('12345678900');
    expect(notes).toEqual([{ field: '/document', code: 'check-digits' }]);
  });

  test('a placeholder phone is a key as any other, and noted', () => {
    const { lead, identities, notes } = accept({ telephone: '(11) 99999-9999' });
    expect(lead.telephone).toBe('11999999999');
    expect(identities).toEqual(['phone:+5511999999999']);
    expect(notes).toEqual([{ field: '/telephone', code: 'placeholder-phone', detail: 'repeated' }]);
  });

  test('a + before a foreign number decides its country', () => {
    expect(accept({ telephone: '+33 9 72 34 56 78' }).identities).toEqual(['phone:+33972345678']);
    expect(accept({ telephone: '33 97234-5678' }).identities).toEqual(['phone:+5533972345678']);
  });

  test('custom texts and their items are cleaned, and minus zero is zero', () => {
    const customFields = { a: ' cafe\u0301\0 ', b: [' x ', null, 'y\ud83d'], c: -0 };
    expect(accept({ customFields }).lead.customFields).toStrictEqual({
      a: 'café',
      b: ['x', 'y\ufffd'],
      c: 0,
    });
  });
});

describe('for every body there is', () => {
  /** Any text, halves of surrogate pairs and control characters included. */
  const rawText = fc
    .array(fc.oneof(fc.nat(0xffff), fc.nat(0x9f), fc.constantFrom(0xd83d, 0xdf38, 0x200b, 0x202e)))
    .map((units) => String.fromCharCode(...units));
  const value = fc.oneof(
    rawText,
    fc.constantFrom(null, '', ' ', 'ana@example.com', '11987654321', '52998224725', '1980-09-27'),
    fc.double(),
    fc.maxSafeInteger(),
    fc.boolean(),
    fc.array(rawText, { maxLength: 3 }),
    fc.dictionary(rawText, rawText, { maxKeys: 2 }),
  );
  const record = (fields: readonly string[]) =>
    fc.record(Object.fromEntries(fields.map((f) => [f, value])), { requiredKeys: [] });
  const body = fc
    .tuple(
      record([...LEAD_FIELDS, ...UTM_FIELDS, '__proto__', 'other']),
      fc.record(
        {
          address: fc.oneof(value, record([...ADDRESS_FIELDS, 'planet'])),
          customFields: fc.oneof(value, fc.dictionary(rawText, value, { maxKeys: 5 })),
        },
        { requiredKeys: [] },
      ),
    )
    .map(([flat, deep]) => ({ ...flat, ...deep }));
  const isLead = Compile(Lead);

  test('lenient accepts it, and the lead is what the contract promises', () => {
    fc.assert(
      fc.property(body, (sent) => {
        const { lead, notes } = accept(sent, lenient);
        expect(isLead.Check(lead)).toBe(true);
        // What Postgres refuses in text and jsonb.
        expect(JSON.stringify([lead, notes])).not.toMatch(/\\u0000|\\ud[89a-f]/);
      }),
      { numRuns: 500 },
    );
  });

  test('a lead normalised again is the same lead', () => {
    fc.assert(
      fc.property(body, (sent) => {
        const { lead } = accept(sent, lenient);
        expect(accept(lead, strict).lead).toStrictEqual(lead);
      }),
      { numRuns: 500 },
    );
  });

  test('strict refuses exactly what lenient sets aside', () => {
    fc.assert(
      fc.property(body, (sent) => {
        const aside = accept(sent, lenient).notes.filter((note) => note.code === 'set-aside');
        const result = normalizeLead(sent, strict);
        const errors = result.kind === 'refused' ? result.errors : [];
        expect(errors.map((e) => e.pointer)).toEqual(aside.map((note) => note.field));
      }),
      { numRuns: 200 },
    );
  });

  test('no answer repeats a value', () => {
    const secret = 'S3cr3t'.repeat(40);
    const all = [...LEAD_FIELDS, ...ADDRESS_FIELDS];
    const sent = Object.fromEntries(all.map((field) => [field, secret]));
    const errors = refuse({ ...sent, address: sent, customFields: secret });
    expect(errors.length).toBeGreaterThan(15);
    expect(JSON.stringify(errors)).not.toContain('S3cr3t');
  });
});

test.each([
  ['@ana.souza', 'ana.souza'],
  ['@@ana', 'ana'],
  ['@ ana', 'ana'],
  ['Ana_Souza', 'Ana_Souza'],
  ['https://www.instagram.com/ana/?hl=pt-br', 'ana'],
  ['HTTP://Instagram.com/ana#top', 'ana'],
  ['instagram.com/@ana', 'ana'],
  ['m.instagram.com/_u/ana/', 'ana'],
  ['\u200b@ana', 'ana'],
  ['https://www.instagram.com/p/Cxyz/', 'https://www.instagram.com/p/Cxyz/'],
  ['notinstagram.com/ana', 'notinstagram.com/ana'],
  ['p', 'p'],
])('%j becomes %j', (sent, handle) => {
  expect(readInstagram(sent)).toBe(handle);
});

test('an address without a handle says nothing', () => {
  for (const sent of ['@', 'https://instagram.com/', 'instagram.com', 'instagram.com/?x'])
    expect(readInstagram(sent)).toBeUndefined();
});

describe('bodies as people and programs send them', () => {
  test('PHP’s empty arrays, masks and leftovers are not sent', () => {
    const body = { customFields: [], address: [], consent: [], email: '-', birthday: '__/__/____' };
    expect(accept(body)).toEqual({ kind: 'accepted', lead: {}, identities: [], notes: [] });
  });

  test.each([
    { address: '[]', customFields: '{}', attribution: '[]' },
    { address: { zipCode: '_____-___', number: '-' } },
    { birthday: 'dd/mm/aaaa' },
    { birthday: '0000-00-00' },
    { birthday: 'Invalid date' },
    { email: 'undefined', telephone: 'null', name: '[object Object]' },
    { customFields: { born: '__/__/____' } },
    { utmSource: [], utm_medium: [''] },
  ])('%j says nothing', (body) => {
    expect(accept(body)).toEqual({ kind: 'accepted', lead: {}, identities: [], notes: [] });
  });

  test('a dash may be the answer to a question', () => {
    expect(accept({ customFields: { rh: '-' } }).lead).toEqual({ customFields: { rh: '-' } });
  });

  test.each([
    [{ name: 'Ana', lastName: 'Lima' }, 'Ana Lima'],
    [{ name: 'Ana Lima', last_name: 'LIMA' }, 'Ana Lima'],
    [{ name: 'Ana Lima', firstName: 'Ana', lastName: 'Lima' }, 'Ana Lima'],
    [{ name: '-', firstName: 'Ana', lastName: 'Lima' }, 'Ana Lima'],
    [{ firstName: '-', lastName: 'Lima' }, 'Lima'],
    [{ firstName: '', first_name: 'Ana' }, 'Ana'],
  ])('of %j no part of the name is lost', (body, name) => {
    expect(accept(body)).toMatchObject({ lead: { name }, notes: [] });
  });

  test('a form may send an object as its JSON', () => {
    const sent = { address: '{"city":"Recife"}', customFields: '{"ad":120211234567890123}' };
    expect(accept(sent).lead).toEqual({
      address: { city: 'Recife' },
      customFields: { ad: '120211234567890123' },
    });
  });

  test('a list of utm values is its first, noted', () => {
    expect(accept({ utmSource: ['', null, 'google'] }).lead).toEqual({ utmSource: 'google' });
    const { lead, notes } = accept({ utmSource: ['google', 'meta'] });
    expect(lead).toEqual({ utmSource: 'google' });
    expect(notes).toEqual([{ field: '/utmSource', code: 'first-of-several' }]);
  });

  test('click ids are read where forms, scripts and platforms put them', () => {
    const attribution = {
      ...{ gclid: 'g', fbc: 'fb.1.2.c', fbp: 'fb.1.2.b', liFatId: 'l', twclid: '120211' },
      landingPage: 'https://x.example/?gclid=g',
      clickedAt: '2026-11-28T17:00:00.000Z',
    };
    const flat = {
      gclid: 'g',
      _fbc: 'fb.1.2.c',
      _fbp: 'fb.1.2.b',
      li_fat_id: ['l'],
      twclid: 120211,
    };
    const { landingPage } = attribution;
    for (const body of [
      { attribution },
      { ...flat, attribution: { landingPage, clickedAt: '2026-11-28 14:00-03:00', fbclid: '' } },
      {
        attribution: { ...flat, landingPage, clickedAt: Date.UTC(2026, 10, 28, 17), gclid: ' g ' },
      },
    ]) {
      const { lead, notes } = accept(body);
      expect(lead).toEqual({ attribution });
      expect(notes).toEqual([]);
    }
  });

  test('what is said of a click refuses no lead: it is cut, or set aside and noted', () => {
    const { lead, notes } = accept({
      email: 'ana@example.com',
      gclid: 'g'.repeat(3_000),
      attribution: { fbclid: { a: 1 }, clickedAt: 'yesterday', other: 'x', ttclid: ['t', 'u'] },
    });
    expect(lead.attribution).toEqual({ gclid: 'g'.repeat(2_048), ttclid: 't' });
    expect(notes.map(({ field, code }) => `${field} ${code}`).toSorted()).toEqual([
      '/attribution/clickedAt set-aside',
      '/attribution/fbclid set-aside',
      '/attribution/other unknown-key',
      '/attribution/ttclid first-of-several',
      '/gclid cut',
    ]);
    expect(accept({ attribution: 'google' })).toMatchObject({
      lead: {},
      notes: [{ field: '/attribution', code: 'set-aside' }],
    });
    expect(accept({ attribution: [] })).toMatchObject({ lead: {}, notes: [] });
  });

  test('of two telephones in one field the first is the key, and the rest a note', () => {
    const { identities, notes } = accept({ telephone: '11987654321 / 1133334444' });
    expect(identities).toEqual(['phone:+5511987654321']);
    expect(notes).toEqual([{ field: '/telephone', code: 'first-of-several' }]);
  });

  test('a plain form says utm marks, parts of the address and of the name at the top level', () => {
    const body = {
      utm_source: 'google',
      'address.city': 'Recife',
      firstName: 'Ana',
      last_name: 'Lima',
    };
    const { lead, notes } = accept(body);
    expect(lead).toEqual({ utmSource: 'google', address: { city: 'Recife' }, name: 'Ana Lima' });
    expect(notes).toEqual([]);
  });

  test('objects may stand at the top level by dots; what the object itself says wins', () => {
    const body = JSON.parse(
      '{"address.city":"Recife","address.street":"Rua A","address":{"street":"Rua B"},"customFields.plano":"ouro","customFields.__proto__":"x","attribution.gclid":"g","consent":"on","consent.text":"Aceito","address.planet":"X","address.":"?"}',
    ) as unknown;
    const { lead, notes, consent } = accept(body);
    expect(lead).toMatchObject({
      address: { city: 'Recife', street: 'Rua B' },
      attribution: { gclid: 'g' },
    });
    expect(Object.entries(lead.customFields ?? {})).toEqual([
      ['plano', 'ouro'],
      ['__proto__', 'x'],
    ]);
    expect(consent).toEqual({ given: true, text: 'Aceito' });
    expect(notes.map(({ field }) => field)).toEqual(['/address/planet', '/address.']);
  });

  test('of a form the other keys are kept, bounded, for custom fields; of JSON they are ignored', () => {
    const body = {
      email: 'a@example.com',
      plano: ' ouro ',
      tags: ['a', 'b'],
      blank: '',
      odd: { a: 1 },
      long: 'x'.repeat(20_000),
      ['k'.repeat(201)]: 'x',
    };
    expect(accept(body).lead).toEqual({ email: 'a@example.com' });
    const { lead, notes } = accept(body, { ...strict, isForm: true });
    expect(lead.otherKeys).toEqual({ plano: 'ouro', tags: ['a', 'b'], long: 'x'.repeat(10_000) });
    expect(notes.map(({ code }) => code)).toEqual(Array(6).fill('unknown-key'));
    const many = Object.fromEntries(
      Array.from({ length: 500 }, (_, i) => [`key${i}`, 'y'.repeat(9_000)]),
    );
    const kept = accept(many, { ...strict, isForm: true }).lead.otherKeys;
    expect(JSON.stringify(kept).length).toBeLessThan(20_000);
  });

  test('a body of which nothing is recognised is taken and says so', () => {
    const { lead, notes } = accept({ 'Nome completo': 'Bia', 'E-mail': 'bia@example.com' });
    expect(lead).toEqual({});
    expect(notes.map(({ code }) => code)).toEqual([
      'unknown-key',
      'unknown-key',
      'nothing-recognised',
    ]);
  });

  test('a key that looks like a value, as when the body was no form, stands in no note', () => {
    for (const key of [
      'ana@example.com',
      'email: ana@example.com',
      'Ana 11987650001',
      '+55 (11) 98765-0001',
      '<lead>x</lead>',
      '[{"name":"Ana"',
    ])
      expect(accept({ [key]: '' }).notes.map(({ field }) => field)).toEqual(['', '']);
    expect(accept({ 'entry.2005620554': 'x' }).notes[0]?.field).toBe('/entry.2005620554');
  });

  test('no note carries more than a hundred characters of a key', () => {
    const { notes } = accept({ email: 'a@example.com', ['k'.repeat(5_000)]: 1 });
    expect(notes).toEqual([{ field: `/${'k'.repeat(100)}`, code: 'unknown-key' }]);
  });
});

describe('characters that a page escaped', () => {
  test.each([
    ['D&#039;&Aacute;vila', "D'Ávila"],
    ['Ana &amp;amp; Bia', 'Ana & Bia'],
    ['P&D; AT&T', 'P&D; AT&T'],
  ])('%j is %s', (sent, name) => {
    const { lead, notes } = accept({ name: sent, city: sent, address: { street: sent } });
    expect(lead).toMatchObject({ name, city: name, address: { street: name } });
    expect(notes.map(({ field, code }) => [field, code])).toEqual(
      sent === name
        ? []
        : ['/name', '/city', '/address/street'].map((field) => [field, 'html-entities']),
    );
  });

  test('cost no more than the text they are in', () => {
    const name = `&${'amp;'.repeat(16_000)}`;
    expect(refuse({ name })).toMatchObject([{ code: 'too-long' }]);
  });
});
