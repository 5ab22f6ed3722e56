import type { LinkMapping } from '@leadgate/contract';
import { isJsonObject } from './reading.ts';
import { customFieldKey, normalized } from './text.ts';

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
