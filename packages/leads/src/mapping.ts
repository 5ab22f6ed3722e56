import {
  ADDRESS_FIELDS,
  ATTRIBUTION_FIELDS,
  type FieldError,
  LEAD_FIELDS,
  type LinkMapping,
  type MappingRule,
  UTM_FIELDS,
} from '@leadgate/contract';
import { jsonpath, type JSONPathQuery, type JSONValue } from 'json-p3';
import {
  customFieldKey,
  exactJson,
  isBlank,
  isJsonObject,
  jsonPointer,
  normalized,
  own,
} from './reading.ts';

const MOST_RULES = 100;

/** Of a body's nesting, for a query that goes down by itself. */
const DEEPEST = 100;

const { expressions, JSONPathEnvironment, selectors } = jsonpath;

/** Without regular expressions: a stranger's body is what they would run on. */
const environment = new JSONPathEnvironment({ maxRecursionDepth: DEEPEST });
for (const name of ['match', 'search']) environment.functionRegister.delete(name);

const FIELDS = new Set<string>([
  ...LEAD_FIELDS,
  ...['firstName', 'lastName'],
  ...ADDRESS_FIELDS.map((field) => `address.${field}`),
  ...UTM_FIELDS,
  ...ATTRIBUTION_FIELDS.map((field) => `attribution.${field}`),
  ...['consent', 'consent.given', 'consent.text', 'consent.textVersion'],
  'consent.language',
  ...['externalId', 'test'],
]);
const CUSTOM_FIELD = /^customFields\.\S/;

/** Everything that is wrong with a mapping. Empty: it can be used. */
export function mappingFaults({ rules, rows }: LinkMapping): FieldError[] {
  const errors: FieldError[] = [];
  const refuse = (field: string, detail: string): void => {
    errors.push({ pointer: `/mapping/rules${jsonPointer(field)}`, code: 'invalid', detail });
  };
  const rowsFault = rows === undefined ? null : faultOf(rows);
  if (rowsFault !== null)
    errors.push({ pointer: '/mapping/rows', code: 'invalid', detail: rowsFault });
  const entries = Object.entries(rules);
  if (entries.length > MOST_RULES) refuse('', `A mapping has up to ${MOST_RULES} fields.`);
  for (const [field, queries] of entries) {
    if (!FIELDS.has(field) && !CUSTOM_FIELD.test(field))
      refuse(
        field,
        'This is no field of a lead, such as email, address.city or customFields.plan.',
      );
    for (const rule of queries) {
      const fault = faultOf(queryOf(rule));
      if (fault !== null) refuse(field, fault);
    }
  }
  return errors;
}

const queryOf = (rule: MappingRule): string => (typeof rule === 'string' ? rule : rule.query);

/** What a query is refused for: that it cannot be read, or that its work is not bounded by the body. */
function faultOf(query: string): string | null {
  const bare = query.replace(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g, '""');
  if (bare.split('..').length > 2 || bare.split('?').length > 3 || bare.lastIndexOf('$') > 0)
    return 'A query has one .. and two filters at most, and $ only as its beginning.';
  try {
    environment.compile(query);
    return null;
  } catch (error) {
    return `It is no JSONPath (RFC 9535): ${error instanceof Error ? error.message : ''}.`;
  }
}

interface Compiled {
  rule: MappingRule;
  /** What the query finds, in its order, each with the key at the top of the body that it stands under. */
  find: (body: JSONValue) => Iterable<Found>;
}

/** Tells of each child of a value that a segment selects, with its key if the value is an object. */
type Step = (value: unknown, take: (child: unknown, key: string | null) => void) => void;

/**
 * A query as a function: names, places, wildcards and filters by text walk the body, which costs a tenth
 * of the engine; the rest is for the engine.
 */
export function finderOf(text: string): Compiled['find'] {
  const query = environment.compile(text);
  const steps: Step[] = [];
  for (const segment of query.segments) {
    const step = stepOf(segment);
    if (step === null) return withEngine(query);
    steps.push(step);
  }
  return (body) => {
    const found: Found[] = [];
    const walk = (value: unknown, at: number, top: string | null): void => {
      const step = steps[at];
      if (step === undefined) found.push({ value, key: top });
      else step(value, (child, key) => walk(child, at + 1, at === 0 ? key : top));
    };
    walk(body, 0, null);
    return found;
  };
}

const withEngine = (query: JSONPathQuery): Compiled['find'] =>
  function* (body) {
    for (const { value, location } of query.lazyQuery(body))
      yield { value, key: typeof location[0] === 'string' ? location[0] : null };
  };

/** Null: for the engine. */
function stepOf(segment: jsonpath.JSONPathSegment): Step | null {
  // The two kinds of segments have no names outside of the library.
  if (segment.toString().startsWith('..')) return null;
  const all = segment.selectors.map(selectionOf).filter((step) => step !== null);
  if (all.length < segment.selectors.length) return null;
  const [only, ...others] = all;
  if (others.length === 0) return only ?? null;
  return (value, take) => {
    for (const step of all) step(value, take);
  };
}

function selectionOf(selector: jsonpath.JSONPathSelector): Step | null {
  if (selector instanceof selectors.NameSelector) {
    const { name } = selector;
    return (value, take) => {
      if (isJsonObject(value) && Object.hasOwn(value, name)) take(value[name], name);
    };
  }
  if (selector instanceof selectors.IndexSelector) {
    const { index } = selector;
    return (value, take) => {
      const at = Array.isArray(value) && index < 0 ? value.length + index : index;
      if (Array.isArray(value) && at in value) take(value[at], null);
    };
  }
  if (selector instanceof selectors.WildcardSelector) return eachChild;
  if (!(selector instanceof selectors.FilterSelector)) return null;
  const filter = filterOf(selector.expression);
  if (filter === null) return null;
  return (value, take) =>
    eachChild(value, (child, key) => {
      if (filter.takes(child)) take(child, key);
    });
}

const eachChild: Step = (value, take) => {
  if (Array.isArray(value)) for (const child of value as unknown[]) take(child, null);
  else if (isJsonObject(value)) for (const key of Object.keys(value)) take(value[key], key);
};

/** Whether a filter takes a child; of one that asks for texts under one path, these too. */
interface Filter {
  takes: (child: unknown) => boolean;
  of?: { path: string; texts: ReadonlySet<string> };
}

/** A filter by texts under names, joined by `||` and `&&`, as nearly all are; null: for the engine. */
function filterOf(expression: jsonpath.expressions.FilterExpression): Filter | null {
  if (expression instanceof expressions.LogicalExpression) return filterOf(expression.expression);
  if (!(expression instanceof expressions.InfixExpression)) return null;
  const { left, operator, right } = expression;
  if (operator === '||' || operator === '&&') {
    const [one, other] = [filterOf(left), filterOf(right)];
    if (one === null || other === null) return null;
    if (operator === '&&') return { takes: (child) => one.takes(child) && other.takes(child) };
    // Twenty names of a field are looked up at once.
    if (one.of !== undefined && one.of.path === other.of?.path)
      return oneOf(one.of.path, new Set([...one.of.texts, ...other.of.texts]));
    return { takes: (child) => one.takes(child) || other.takes(child) };
  }
  const isText = operator === '==' && right instanceof expressions.StringLiteral;
  if (!isText || !(left instanceof expressions.RelativeQuery)) return null;
  const path = left.path.segments.map(({ selectors: [selector, ...others] }) =>
    selector instanceof selectors.NameSelector && others.length === 0 ? selector.name : null,
  );
  return path.length > 0 && path.every((name) => name !== null)
    ? oneOf(JSON.stringify(path), new Set([right.value]))
    : null;
}

/** @param path names, as JSON */
function oneOf(path: string, texts: ReadonlySet<string>): Filter {
  const names = JSON.parse(path) as string[];
  const takes = (child: unknown): boolean => {
    let member = child;
    for (const name of names) member = isJsonObject(member) ? own(member, name) : undefined;
    return typeof member === 'string' && texts.has(member);
  };
  return { takes, of: { path, texts } };
}

interface FieldRule {
  path: string[];
  queries: Compiled[];
}

interface CompiledMapping {
  fields: FieldRule[];
  rows: Compiled['find'] | null;
}

/** By mapping, which stays the same object for as long as a process holds its link. */
const compiled = new WeakMap<LinkMapping, CompiledMapping>();

function compile(mapping: LinkMapping): CompiledMapping {
  const fields = Object.entries(mapping.rules).map(([field, queries]) => {
    const [outer = '', ...rest] = field.split('.');
    return {
      path: rest.length === 0 ? [outer] : [outer, rest.join('.')],
      queries: queries.map((rule) => ({ find: finderOf(queryOf(rule)), rule })),
    };
  });
  const made = { fields, rows: mapping.rows === undefined ? null : finderOf(mapping.rows) };
  compiled.set(mapping, made);
  return made;
}

const compiledOf = (mapping: LinkMapping): CompiledMapping =>
  compiled.get(mapping) ?? compile(mapping);

/**
 * The leads of a body in which a mapping says that a list of them stands; null if there is none, and the body
 * is one lead. A row by itself, as it is kept, is one. Never throws because of the body.
 */
export function rowsOf(body: unknown, mapping: LinkMapping): unknown[] | null {
  const { rows } = compiledOf(mapping);
  if (rows === null || typeof body !== 'object' || body === null) return null;
  const list = firstFound(body as JSONValue, [{ find: rows, rule: '' }])?.value;
  return Array.isArray(list) ? list : null;
}

/**
 * A sender's body as a lead's own fields. Only JSON objects and lists are mapped; anything else, and
 * what the queries do not find, is as if it had not been sent. A text at the top that is JSON itself, as
 * a field of a form may be, is read as what it holds. Never throws because of the body.
 */
export function mapBody(body: unknown, mapping: LinkMapping): unknown {
  if (typeof body !== 'object' || body === null) return body;
  const { fields } = compiledOf(mapping);
  const opened = withJsonOpened(body) as JSONValue;
  const mapped: Record<string, unknown> = {};
  const inner: Record<string, Record<string, unknown>> = {};
  const named = new Set<string>();
  for (const { path, queries } of fields) {
    const found = firstFound(opened, queries);
    if (found === undefined) continue;
    if (found.key !== null) named.add(found.key);
    const [outer = '', key] = path;
    if (key === undefined) mapped[outer] = found.value;
    else inner[outer] = withKey(inner[outer], key, found.value);
  }
  if (mapping.rest !== undefined && isJsonObject(opened))
    for (const [key, value] of Object.entries(opened))
      if (!named.has(key) && (typeof value !== 'object' || Array.isArray(value)))
        inner['customFields'] = { ...withKey({}, key, value), ...inner['customFields'] };
  return { ...mapped, ...inner };
}

/** fromEntries defines each key as its own, `__proto__` too. */
const withKey = (object: object = {}, key: string, value: unknown): Record<string, unknown> =>
  Object.fromEntries([...Object.entries(object), [key, value]]);

/** The names of JSON in a text are found only there: a form has no other way to send an object. */
function withJsonOpened(body: object): object {
  const entries = Object.entries(body);
  if (Array.isArray(body) || !entries.some(([, value]) => looksLikeJson(value))) return body;
  return Object.fromEntries(
    entries.map(([key, value]) => [key, looksLikeJson(value) ? opened(value) : value]),
  );
}

const looksLikeJson = (value: unknown): value is string =>
  typeof value === 'string' && value.startsWith('{"');

function opened(text: string): unknown {
  try {
    return exactJson(text);
  } catch {
    return text;
  }
}

/** What counts of the queries of a field; `key`: the one at the top of the body that it stands under. */
interface Found {
  value: unknown;
  key: string | null;
}

function firstFound(body: JSONValue, queries: readonly Compiled[]): Found | undefined {
  for (const { find, rule } of queries) {
    const parts: unknown[] = [];
    try {
      for (const { value, key } of find(body)) {
        if (isBlank(value)) continue;
        if (typeof rule === 'string') return { value, key };
        if (rule.join !== true) return { value: transformed(value, rule), key };
        parts.push(value);
        if (parts.length === MOST_JOINED) break;
      }
      if (parts.length > 0 && typeof rule === 'object')
        return { value: transformed(parts.map(String).join(' '), rule), key: null };
    } catch {
      // Deeper than any form, or an object of one, which is no text: what is there is not read.
    }
  }
  return undefined;
}

const MOST_JOINED = 10;
const SLASHED_DATE = /^(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})$/;

function transformed(value: unknown, rule: Exclude<MappingRule, string>): unknown {
  const { without = '', dates, values = {} } = rule;
  if (typeof value !== 'string')
    return Object.hasOwn(values, String(value)) ? values[String(value)] : value;
  const text = value.startsWith(without) ? value.slice(without.length) : value;
  if (Object.hasOwn(values, text)) return values[text];
  const date = dates === undefined ? null : SLASHED_DATE.exec(text.trim());
  if (date === null) return text;
  const [, first = '', second = '', year = ''] = date;
  const [day, month] = dates === 'day-first' ? [first, second] : [second, first];
  return `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
}

/** What is wrong with the queries of rules, by the field that they are of. Empty: they can be used. */
export function queryFaults(
  rules: Readonly<Record<string, readonly string[]>>,
): { field: string; detail: string }[] {
  return Object.entries(rules).flatMap(([field, queries]) =>
    queries.flatMap((query) => {
      const detail = faultOf(query);
      return detail === null ? [] : [{ field, detail }];
    }),
  );
}

/** What rules read of a value: by field, the first that its queries find. */
export function mapRules(
  rules: Readonly<Record<string, readonly string[]>>,
): (value: object) => Record<string, unknown> {
  const compiledRules = Object.entries(rules).map(
    ([field, queries]) =>
      [field, queries.map((query) => ({ find: finderOf(query), rule: query }))] as const,
  );
  return (value) =>
    Object.fromEntries(
      compiledRules.flatMap(([field, queries]): [string, unknown][] => {
        const found = firstFound(value as JSONValue, queries);
        return found === undefined ? [] : [[field, found.value]];
      }),
    );
}

/** What people call a field, without accents, spaces and signs; longer names first count. */
const NAMES: [pattern: RegExp, field: string][] = [
  [/^(?:seu|your|user|work|tu)?(?:e?mail|correo)(?:address|electronico)?$/, 'email'],
  [
    /^(?:seu|your|user|tu)?(?:phone|tele(?:phone|fone?|fono)|celular|whats?app|movil|tel|mobile)/,
    'telephone',
  ],
  [/^(?:numerode(?:telefone|whatsapp)|phonenumber)$/, 'telephone'],
  [/^(?:first|primeiro|primer)(?:name|nome|nombre)$/, 'firstName'],
  [/^(?:last(?:name)?|sobrenome|apellidos?)$/, 'lastName'],
  [/^(?:seu|your|full|user|tu)?(?:name|nome|nombre)(?:completo)?$/, 'name'],
  [/^(?:cpf|cnpj|cpfcnpj)$/, 'document'],
  [/^(?:city|cidade|ciudad)$/, 'city'],
  [/^(?:state|estado|uf)$/, 'state'],
  [/^(?:profissao|cargo|jobtitle|profession)$/, 'profession'],
  [/^(?:cep|zip(?:code)?|postalcode)$/, 'address.zipCode'],
  [/^utm(?:source|medium|campaign|content|term)$/, 'utm'],
  [/^(?:gclid|fbclid|gbraid|wbraid|ttclid|msclkid)$/, 'attribution'],
];

const UTM: Record<string, string> = {
  ...{ utmsource: 'utmSource', utmmedium: 'utmMedium', utmcampaign: 'utmCampaign' },
  ...{ utmcontent: 'utmContent', utmterm: 'utmTerm' },
};

/** Words that a question has before what it asks for: Qual é o seu melhor e-mail? */
const ASKING = new Set([
  ...['qual', 'quais', 'e', 'o', 'a', 'os', 'as', 'um', 'uma', 'seu', 'sua', 'melhor', 'principal'],
  ...[
    'digite',
    'informe',
    'insira',
    'preencha',
    'coloque',
    'escreva',
    'deixe',
    'aqui',
    'numero',
    'de',
    'do',
  ],
  ...['what', 'whats', 's', 'is', 'your', 'the', 'best', 'enter', 'please', 'number', 'of'],
  ...[
    'cual',
    'es',
    'tu',
    'su',
    'el',
    'la',
    'mejor',
    'ingresa',
    'escribe',
    'en',
    'que',
    'in',
    'which',
  ],
]);

function fieldOf(name: string): string | null {
  const words = normalized(customFieldKey(name), 'NFD')
    .replace(/[\u0300-\u036f]/g, '')
    .split(/[^a-z0-9]+/)
    .filter(Boolean);
  const first = words.findIndex((word) => !ASKING.has(word));
  return (
    fieldOfName(words.join('')) ?? (first > 0 ? fieldOfName(words.slice(first).join('')) : null)
  );
}

function fieldOfName(folded: string): string | null {
  const field = NAMES.find(([pattern]) => pattern.test(folded))?.[1];
  if (field === 'utm') return UTM[folded] ?? null;
  return field === 'attribution' ? `attribution.${folded}` : (field ?? null);
}

const EMAIL = /^\s*[^\s@]+@[^\s@]+\.[a-z]{2,}\s*$/i;
/** Members by which lists of answers tell a question, and its answer. */
const QUESTIONS = ['label', 'title', 'name', 'key', 'column_id', 'id', 'field'];
const ANSWERS = ['value', 'string_value', 'answer', 'text'];
const DEEPEST_ANSWER = 5;
const MOST_VALUES = 500;

const quoted = (key: string): string => JSON.stringify(key);

/** Each text of a body with what it is called and the query that finds it. */
function* answersOf(
  value: unknown,
  path = '$',
  depth = 0,
): Generator<{ name: string; query: string; text: string }> {
  if (depth === DEEPEST_ANSWER) return;
  if (Array.isArray(value)) {
    for (const item of value.slice(0, 100)) {
      if (!isJsonObject(item)) continue;
      const question = QUESTIONS.find((key) => typeof item[key] === 'string');
      const answer = ANSWERS.find((key) => typeof item[key] === 'string');
      if (question === undefined || answer === undefined) continue;
      const name = String(item[question]);
      const query = `${path}[?@[${quoted(question)}] == ${quoted(name)}][${quoted(answer)}]`;
      yield { name, query, text: String(item[answer]) };
    }
    return;
  }
  if (!isJsonObject(value)) return;
  for (const [key, inner] of Object.entries(value)) {
    const query = `${path}[${quoted(key)}]`;
    if (typeof inner === 'string' || typeof inner === 'number')
      yield { name: key, query, text: String(inner) };
    else yield* answersOf(inner, query, depth + 1);
  }
}

/**
 * The rules by which bodies could be read, from what their keys and labels are called in Portuguese, English and
 * Spanish; an email is known by how it looks too. What most bodies have comes first. Pure.
 */
export function suggestRules(bodies: readonly unknown[]): LinkMapping['rules'] {
  const found = new Map<string, Map<string, number>>();
  for (const body of bodies) {
    let values = 0;
    for (const { name, query, text } of answersOf(body)) {
      if (++values > MOST_VALUES || query.length > 300) break;
      const field = fieldOf(name) ?? (EMAIL.test(text) ? 'email' : null);
      if (field === null || text.trim() === '') continue;
      const queries = found.get(field) ?? new Map<string, number>();
      found.set(field, queries.set(query, (queries.get(query) ?? 0) + 1));
    }
  }
  return Object.fromEntries(
    [...found].map(([field, queries]) => [
      field,
      [...queries]
        .sort(([, a], [, b]) => b - a)
        .slice(0, 3)
        .map(([query]) => query),
    ]),
  );
}
