import { testDatabase, testRedis } from '@leadgate/testkit';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { consoleUnderTest, type Ask, type ConsoleUnderTest } from '../test/console.ts';
import { openapiDocument } from './openapi.ts';

interface Parameter {
  name: string;
  in: 'path' | 'query';
}

interface Described {
  parameters?: Parameter[];
  requestBody?: {
    content: Record<string, { schema?: { properties?: Record<string, unknown> } }>;
  };
}

type Verb = 'get' | 'post' | 'patch' | 'delete';

let database: Awaited<ReturnType<typeof testDatabase>>;
let console_: ConsoleUnderTest;
let administrator: Ask;
let addresses: { verb: Verb; path: string; described: Described }[];

beforeAll(async () => {
  database = await testDatabase();
  const redis = await testRedis();
  console_ = await consoleUnderTest({ databaseUrl: database.url, redisUrl: redis.url });
  administrator = await console_.withToken('administrator');
  const { paths } = (await openapiDocument()) as {
    paths: Record<string, Record<Verb, Described>>;
  };
  addresses = Object.entries(paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, described]) => ({ verb: verb as Verb, path, described })),
  );
});

afterAll(async () => {
  await console_.close();
  await database.drop();
});

/** What broke something once, here or elsewhere. */
const HOSTILE = [
  ...['', ' ', 'x', '\0', 'a\0b', '\ud800', 'x\udfff', '\u202e', '%', '%00', '../..', '__proto__'],
  ...['-1', '0', '1e309', 'NaN', '99999999999999999999', '9'.repeat(400), 'x'.repeat(5_000)],
  ...['2026-13-45', '9999-12-31T23:59:59Z', '+275760-09-13T00:00:00Z', '-000001-01-01T00:00:00Z'],
  ...['0d5b6b44-6a3e-4a55-9b4d-6a8c1f1d0a01', "'; DROP TABLE lead; --", 'true', 'null', '[]', '{}'],
];
const text = fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ unit: 'binary', maxLength: 40 }));
const value = fc.oneof(
  text,
  fc.jsonValue(),
  fc.array(text, { maxLength: 3 }),
  fc.dictionary(text, fc.jsonValue(), { maxKeys: 3 }),
);

/** A lone surrogate has no bytes; a browser sends the replacement character. */
const encode = (part: string): string => encodeURIComponent(part.replace(/\p{Cs}/gu, '\ufffd'));

test('no input of any operation is answered by a fault of the server', async () => {
  // It answers until it is cut off.
  const asked = addresses.filter(({ path }) => path !== '/api/tail');
  expect(asked.length).toBeGreaterThan(40);
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...asked),
      fc.infiniteStream(text),
      fc.infiniteStream(fc.option(value, { nil: undefined, freq: 3 })),
      async ({ verb, path, described }, texts, values) => {
        const { parameters = [], requestBody } = described;
        const next = () => String(texts.next().value);
        const url = path.replace(/\{\w+\}/g, () => encode(next()) || 'x');
        const query = parameters
          .filter((parameter) => parameter.in === 'query')
          .map(({ name }) => `${name}=${encode(next())}`);
        const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? [];
        const body = Object.fromEntries(
          Object.keys(content?.schema?.properties ?? {}).flatMap((name) => {
            const one: unknown = values.next().value;
            return one === undefined ? [] : [[name, one]];
          }),
        );
        const { statusCode } = await administrator(
          verb.toUpperCase(),
          `${url}?${query.join('&')}`,
          type === undefined
            ? {}
            : { payload: JSON.stringify(body), headers: { 'content-type': type } },
        );
        expect(statusCode, console_.log.at(-1)).toBeLessThan(500);
      },
    ),
    { numRuns: 1_500 },
  );
}, 120_000);

test.each([
  ...['/api/leads?limit=%00', '/api/held?before=x', '/api/rejected?before=x'],
  ...['/api/audit?before=99999999999999999999', '/api/leads?workspaceId=%00'],
])('%s is told what is wrong, or finds nothing', async (url) => {
  expect((await administrator('GET', url)).statusCode).toBeLessThan(500);
});

test('a parameter that a route does not take is refused, not ignored: by every route of the API', async () => {
  for (const { verb, path } of addresses) {
    const url = path.replace(/\{\w+\}/g, '0d5b6b44-6a3e-4a55-9b4d-6a8c1f1d0a01');
    const answer = await administrator(verb.toUpperCase(), `${url}?emial=ana@example.com`);
    expect([path, answer.statusCode]).toEqual([path, 400]);
    expect(answer.json()).toMatchObject({ errors: [{ code: 'unknown-parameter' }] });
    expect(answer.body).not.toContain('ana@');
  }
});

test.each(['\0', 'a\0b', '\ud800x'])('a workspace is not named %j', async (name) => {
  const { statusCode } = await administrator('POST', '/api/workspaces', { payload: { name } });
  expect(statusCode).toBe(422);
});

test('a body that is nested deeper than a stack is told so, by every route that takes one', async () => {
  const taking = addresses.filter(
    ({ described }) => described.requestBody?.content['application/json'] !== undefined,
  );
  expect(taking.length).toBeGreaterThan(20);
  for (const { verb, path } of taking)
    for (const depth of [101, 200_000]) {
      const url = path.replace(/\{\w+\}/g, '0d5b6b44-6a3e-4a55-9b4d-6a8c1f1d0a01');
      const answer = await administrator(verb.toUpperCase(), url, {
        payload: `{"name":${'['.repeat(depth)}${']'.repeat(depth)}}`,
        headers: { 'content-type': 'application/json' },
      });
      expect([path, answer.statusCode]).toEqual([path, 422]);
      expect(answer.json()).toMatchObject({ errors: [{ code: 'too-deep' }] });
    }
});
