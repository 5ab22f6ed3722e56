import {
  ADDRESS_FIELDS,
  ATTRIBUTION_FIELDS,
  LEAD_FIELDS,
  UTM_FIELDS,
  type FieldError,
  type LinkMapping,
} from '@leadgate/contract';
import { JSONPathEnvironment, type JSONPathQuery, type JSONValue } from 'json-p3';
import { isBlank, jsonPointer } from './reading.ts';

const MOST_RULES = 100;

/** Of a body's nesting, for a query that goes down by itself. */
const DEEPEST = 100;

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
  'externalId',
]);
const CUSTOM_FIELD = /^customFields\.\S/;

/** Everything that is wrong with a mapping. Empty: it can be used. */
export function mappingFaults({ rules }: LinkMapping): FieldError[] {
  const errors: FieldError[] = [];
  const refuse = (field: string, detail: string): void => {
    errors.push({ pointer: `/mapping/rules${jsonPointer(field)}`, code: 'invalid', detail });
  };
  const entries = Object.entries(rules);
  if (entries.length > MOST_RULES) refuse('', `A mapping has up to ${MOST_RULES} fields.`);
  for (const [field, queries] of entries) {
    if (!FIELDS.has(field) && !CUSTOM_FIELD.test(field))
      refuse(
        field,
        'This is no field of a lead, such as email, address.city or customFields.plan.',
      );
    for (const query of queries) {
      const fault = faultOf(query);
      if (fault !== null) refuse(field, fault);
    }
  }
  return errors;
}

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

interface Rule {
  path: string[];
  queries: JSONPathQuery[];
}

/** By mapping, which stays the same object for as long as a process holds its link. */
const compiled = new WeakMap<LinkMapping, Rule[]>();

function compile(mapping: LinkMapping): Rule[] {
  const rules = Object.entries(mapping.rules).map(([field, queries]) => {
    const [outer = '', ...rest] = field.split('.');
    return {
      path: rest.length === 0 ? [outer] : [outer, rest.join('.')],
      queries: queries.map((query) => environment.compile(query)),
    };
  });
  compiled.set(mapping, rules);
  return rules;
}

/**
 * A sender's body as a lead's own fields. Only JSON objects and lists are mapped; anything else, and
 * what the queries do not find, is as if it had not been sent. Never throws because of the body.
 */
export function mapBody(body: unknown, mapping: LinkMapping): unknown {
  if (typeof body !== 'object' || body === null) return body;
  const rules = compiled.get(mapping) ?? compile(mapping);
  const mapped: Record<string, unknown> = {};
  const inner: Record<string, Record<string, unknown>> = {};
  for (const { path, queries } of rules) {
    const value = firstFound(body as JSONValue, queries);
    if (value === undefined) continue;
    const [outer = '', key] = path;
    if (key === undefined) mapped[outer] = value;
    // fromEntries below defines each key as its own, `__proto__` too.
    else inner[outer] = Object.fromEntries([...Object.entries(inner[outer] ?? {}), [key, value]]);
  }
  return { ...mapped, ...inner };
}

function firstFound(body: JSONValue, queries: readonly JSONPathQuery[]): unknown {
  for (const query of queries) {
    try {
      for (const node of query.lazyQuery(body)) if (!isBlank(node.value)) return node.value;
    } catch {
      // Deeper than any form: what is there is not read.
    }
  }
  return undefined;
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
    ([field, queries]) => [field, queries.map((query) => environment.compile(query))] as const,
  );
  return (value) =>
    Object.fromEntries(
      compiledRules.flatMap(([field, queries]): [string, unknown][] => {
        const found = firstFound(value as JSONValue, queries);
        return found === undefined ? [] : [[field, found]];
      }),
    );
}
