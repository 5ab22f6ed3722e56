import { expect, test } from 'vitest';
import { openapiDocument } from './openapi.ts';

test('the committed document is the one of the routes (npm run openapi writes it)', async () => {
  const document = JSON.stringify(await openapiDocument(), null, 2);
  await expect(`${document}\n`).toMatchFileSnapshot('../openapi.json');
});

test('the document tells what a stranger has to send, and nothing of the inside', async () => {
  const text = JSON.stringify(await openapiDocument());
  for (const word of ['customFields', 'birthday', 'Idempotency-Key', 'application/problem+json'])
    expect(text).toContain(word);
  for (const word of ['linkId', 'workspaceId', 'dummyPhones', 'expiresAt'])
    expect(text).not.toContain(word);
});
