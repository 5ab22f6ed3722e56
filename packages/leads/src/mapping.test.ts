import { externalKey, isExternalKey, type Lead, LinkMapping } from '@leadgate/contract';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { jsonpath, type JSONValue } from 'json-p3';
import { finderOf, mapBody, mappingFaults, rowsOf } from './mapping.ts';
import { readLead, readSent, soleItem, type ReadingRules } from './lead.ts';
import { parseBody } from './body.ts';
import { PRESETS, PRESET_NAMES, presetMapping } from './presets.ts';

const mapping = (rules: LinkMapping['rules']): LinkMapping => ({ preset: null, rules });
const map = (rules: LinkMapping['rules'], body: unknown) => mapBody(body, mapping(rules));

const rulesOf: ReadingRules = {
  ...{ linkId: 'link', country: 'BR', dummyPhones: [] },
  ...{ mode: 'strict', requireIdentity: true },
};
const now = Date.UTC(2026, 10, 28);
/** A body as a sender documents it, as JSON or as the text of a form, and what it comes to. */
interface Sample {
  body?: unknown;
  form?: string;
  externalId?: string;
  lead: Lead;
}

describe('a preset', () => {
  test.each(PRESET_NAMES)('%s reads what its sender documents', (name) => {
    const file = new URL(`samples/${name}.json`, import.meta.url);
    for (const { body, form, externalId, lead } of JSON.parse(
      readFileSync(file, 'utf8'),
    ) as Sample[]) {
      const parsed = parseBody(form ?? JSON.stringify(body), form === undefined ? 'json' : 'form');
      if (parsed.kind !== 'parsed') throw new Error(parsed.kind);
      const mapping = presetMapping(name);
      const own = mapBody(soleItem(parsed.value, { mapping }), mapping);
      const reading = readLead(own, rulesOf, { lenient: false, now });
      expect(reading).toMatchObject({ kind: 'read', lead });
      const ids = reading.kind === 'read' ? reading.identities.filter(isExternalKey) : [];
      expect(ids).toEqual(externalId === undefined ? [] : [externalKey('link', externalId)]);
    }
  });

  test.each(PRESET_NAMES)('%s is a mapping that a link may have', (name) => {
    expect(mappingFaults(presetMapping(name))).toEqual([]);
    expect(Value.Errors(LinkMapping, presetMapping(name))).toEqual([]);
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

  test('knows the rows of a list, and a row by itself as one lead', () => {
    const list = { ...mapping({ email: ['$.mail'] }), rows: '$' };
    const rows = [{ mail: 'a@x.io' }, { mail: 'b@x.io' }];
    expect(rowsOf(rows, list)).toEqual(rows);
    expect(rowsOf({ of: rows }, { ...list, rows: '$.of' })).toEqual(rows);
    for (const one of [rows[0], [], {}, { of: 'x' }, 'text', null])
      expect(rowsOf(one, { ...list, rows: '$.of' })).toBeNull();
    expect(rowsOf(rows, mapping({ email: ['$.mail'] }))).toBeNull();
    expect(mappingFaults({ ...list, rows: '$..a..b' })).toMatchObject([
      { pointer: '/mapping/rows' },
    ]);
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
        for (const name of PRESET_NAMES) mapBody(body, presetMapping(name));
      }),
    );
  });

  test('is not held up by a hostile body: 64 KiB of any nesting', () => {
    const rules = { ...PRESETS.typeform.rules, city: ['$..mail', '$[?@.a].b', '$.*[?@.x == 1].y'] };
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

  test.each([
    [{ query: '$.d', dates: 'day-first' as const }, { d: '7/11/1990' }, '1990-11-07'],
    [{ query: '$.d', dates: 'month-first' as const }, { d: '11/07/1990' }, '1990-11-07'],
    [{ query: '$.p', without: 'p:' }, { p: 'p:+5511987650001' }, '+5511987650001'],
    [{ query: "$['a', 'b']", join: true }, { a: '11', b: 987650001 }, '11 987650001'],
    [{ query: '$.v', values: { Ouro: 'gold' } }, { v: 'Ouro' }, 'gold'],
    [{ query: '$.v', values: { true: 'sim' } }, { v: true }, 'sim'],
    [{ query: '$.v', values: { Ouro: 'gold' } }, { v: 'constructor' }, 'constructor'],
  ])('makes of what %j finds what it says', (rule, body, value) => {
    expect(map({ name: [rule] }, body)).toEqual({ name: value });
  });

  test.each([
    ['an object of a form, which is no text', parseBody('v[x]=1', 'form')],
    [
      'what is nested deeper than a stack goes',
      parseBody(`{"v":${'['.repeat(30_000)}${']'.repeat(30_000)}}`, 'json'),
    ],
  ])('does not join %s', (_, parsed) => {
    if (parsed.kind !== 'parsed') throw new Error(parsed.kind);
    expect(map({ name: [{ query: '$.v', join: true }] }, parsed.value)).toEqual({});
  });

  test('keeps what no query names as custom fields, if it says so', () => {
    const rules = { email: ['$.mail', '$.email'] };
    const body = { mail: 'a@x.io', plan: 'gold', tags: ['a'], deep: { x: 1 } };
    expect(mapBody(body, { ...mapping(rules), rest: 'custom-fields' })).toEqual({
      email: 'a@x.io',
      customFields: { plan: 'gold', tags: ['a'] },
    });
  });

  test.each([
    ['nothing is found', { rules: { email: ['$.mail'] } }, { other: 'x' }, true],
    ['a value is found', { rules: { email: ['$.mail'] } }, { mail: 'a@x.io' }, false],
    ['an empty body came', { rules: { email: ['$.mail'] } }, {}, false],
    ['the rest is custom', { rules: { email: ['$.m'] }, rest: 'custom-fields' }, { o: 'x' }, true],
    ['a list holds nothing', { rules: { email: ['$[0].mail'] } }, [{ o: 'x' }], true],
  ])('if %s, says so', (_, rules, body, isNoted) => {
    const mapping = { preset: null, ...rules } as LinkMapping;
    const link = { ...rulesOf, requireIdentity: false, mapping };
    const reading = readSent(body, link, { lenient: false, now });
    const codes = reading.kind === 'read' ? reading.notes.map(({ code }) => code) : [];
    expect(codes.includes('nothing-recognised')).toBe(isNoted);
  });

  const name = fc.constantFrom('a', 'b', 'c');
  const quoted = fc.oneof(name, fc.constant('a b'), fc.constant('length')).map((n) => `'${n}'`);
  const list = (one: fc.Arbitrary<string>) =>
    fc.array(one, { minLength: 1, maxLength: 3 }).map((all) => all.join(', '));
  const equal = fc
    .tuple(fc.constantFrom('@.a', '@.b', '@.a.b', "@['a']"), quoted)
    .map((sides) => sides.join(' == '));
  const filter = fc
    .tuple(fc.array(equal, { minLength: 1, maxLength: 3 }), fc.array(equal, { maxLength: 1 }))
    .map(([some, and]) => `?${[`(${some.join(' || ')})`, ...and].join(' && ')}`);
  const place = fc.integer({ min: -3, max: 3 }).map(String);
  const selected = fc.oneof(quoted, place, fc.constant('*'), filter);
  const segment = fc.oneof(
    name.map((n) => `.${n}`),
    fc.constant('.*'),
    list(selected).map((all) => `[${all}]`),
  );
  const query = fc.oneof(
    fc.array(segment, { maxLength: 4 }).map((segments) => `$${segments.join('')}`),
    fc.tuple(fc.constantFrom('$', '$.c'), filter).map(([list, test]) => `${list}[${test}]`),
  );
  const { tree } = fc.letrec<{ tree: JSONValue }>((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom<JSONValue>('a', 'b', 'a b', 'length', '', 0, 1, true, null),
      fc.array(tie('tree'), { maxLength: 4 }),
      fc.dictionary(fc.oneof(name, fc.constantFrom('length', '0')), tie('tree'), { maxKeys: 4 }),
    ),
  }));

  const answer = fc.record(
    { a: fc.oneof(name, fc.record({ b: name })), b: name, c: tree },
    { requiredKeys: [] },
  );
  const answers = fc.oneof(
    fc.array(answer),
    fc.dictionary(name, answer),
  ) as fc.Arbitrary<JSONValue>;
  const bodies = fc.oneof(tree, answers, fc.record({ c: answers }));

  test('finds what the engine finds, in its order', () => {
    const all = ({ rules }: Pick<LinkMapping, 'rules'>) => Object.values(rules).flat();
    const known = PRESET_NAMES.flatMap((name) => all(PRESETS[name])).map((rule) =>
      typeof rule === 'string' ? rule : rule.query,
    );
    fc.assert(
      fc.property(fc.oneof(query, fc.constantFrom(...known)), bodies, (text, body) => {
        const engine = jsonpath.query(text, body).nodes.map(({ value, location: [top] }) => ({
          ...{ value, key: typeof top === 'string' ? top : null },
        }));
        expect([...finderOf(text)(body)]).toEqual(engine);
      }),
      { numRuns: 3_000 },
    );
  });

  test('may have what looks like more in its quotes', () => {
    expect(mappingFaults(mapping({ email: ["$['a..b..c?$?']"] }))).toEqual([]);
  });
});
