import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const folder = new URL('../src/', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, folder), 'utf8');

/** Every text of a language by its path. */
function textsOf(language: string): Map<string, string> {
  const flat = (value: unknown, path: string): [string, string][] =>
    typeof value === 'string'
      ? [[path, value]]
      : Object.entries(value as object).flatMap(([key, inner]) =>
          flat(inner, path === '' ? key : `${path}.${key}`),
        );
  return new Map(flat(JSON.parse(read(`messages/${language}.json`)), ''));
}

/** What a text takes in, and what it marks: `{count}`, `<at>`. */
const holesOf = (text: string): string[] =>
  [...text.matchAll(/\{(\w+)[,}]|<(\w+)>/g)]
    .map(([, value, tag]) => value ?? `<${tag}>`)
    .toSorted();

const [en, pt] = [textsOf('en'), textsOf('pt')];

test('each text stands in both languages, with the same holes', () => {
  expect([...pt.keys()].toSorted()).toEqual([...en.keys()].toSorted());
  for (const [path, text] of en)
    expect([path, [...new Set(holesOf(pt.get(path) ?? ''))]]).toEqual([
      path,
      [...new Set(holesOf(text))],
    ]);
});

test('none is not said as one: to Portuguese “one” is zero too', () => {
  expect([...pt].filter(([, text]) => /\bone \{/.test(text))).toEqual([]);
  const plurals = [...pt.values()].filter((text) => text.includes(', plural,'));
  expect(plurals.length).toBeGreaterThan(20);
  for (const text of plurals) expect(text).toMatch(/=1 \{/);
});

/** Texts that codes of the API choose, so that no page names them. */
const CHOSEN = [...['note.', 'code.', 'held.', 'overview.alarm.', 'shell.', 'settings.retention.']];
/** A group of such texts, as a page asks for it. */
const GROUP = /useCode\(.* => (?:texts\.)?([\w.]+)\)/g;

test('each text is one that a page asks for', () => {
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !/generated|\.test\./.test(name))
    .map(read);
  const all = sources.join('\n');
  const chosen = [...CHOSEN, ...[...all.matchAll(GROUP)].map(([, group]) => `${group ?? ''}.`)];
  const unused = [...en.keys()].filter((path) => {
    const names = path.split('.');
    const named = new RegExp(`['"\`.]${names.at(-1) ?? ''}['"\`]`);
    // A text in a group of its namespace may be chosen by a value, which is in the sources under its own name.
    const isAsked = (source: string) =>
      source.includes(`useMessages().${names[0] ?? ''}`) ||
      new RegExp(`\\b${names[0] ?? ''}\\b[^\\n]*useMessages\\(\\)`).test(source) ||
      names.some(
        (_, n) =>
          source.includes(`useTranslations('${names.slice(0, n).join('.')}')`) &&
          named.test(n === names.length - 1 ? source : all),
      );
    return !sources.some(isAsked) && !chosen.some((prefix) => path.startsWith(prefix));
  });
  expect(unused).toEqual([]);
});

test('every note of the API has a text', () => {
  const { paths } = JSON.parse(read('../../console/openapi.json')) as Openapi;
  const { post } = paths['/api/workspaces/{workspaceId}/leads/search'] ?? {};
  const codes = post?.requestBody.content['application/json'].schema.properties.note?.enum ?? [];
  expect(codes.length).toBeGreaterThan(15);
  const noted = [...en.keys()].filter((path) => path.startsWith('note.'));
  expect(noted.toSorted()).toEqual(codes.map((code) => `note.${code}`).toSorted());
});

interface Openapi {
  paths: Record<string, { post: { requestBody: Body } } | undefined>;
}

interface Body {
  content: {
    'application/json': { schema: { properties: Record<string, { enum?: string[] } | undefined> } };
  };
}
