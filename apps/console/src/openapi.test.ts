import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openapiDocument } from './openapi.ts';

test('the committed document is the one of the routes (npm run openapi writes it)', async () => {
  const committed: unknown = JSON.parse(
    readFileSync(new URL('../openapi.json', import.meta.url), 'utf8'),
  );
  expect(JSON.parse(JSON.stringify(await openapiDocument()))).toEqual(committed);
});

test('every operation has a name, and says what it answers when it refuses', async () => {
  const { paths } = (await openapiDocument()) as {
    paths: Record<string, Record<string, { operationId?: string; responses: object }>>;
  };
  const operations = Object.values(paths).flatMap((path) => Object.values(path));
  expect(operations.length).toBeGreaterThan(20);
  for (const { operationId, responses } of operations) {
    expect(operationId).toMatch(/^[a-z]\w+$/);
    expect(Object.keys(responses)).toContain('4XX');
  }
});
