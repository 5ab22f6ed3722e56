import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { openapiDocument } from './openapi.ts';

test('the committed document is the one of the routes (npm run openapi writes it)', async () => {
  const document = JSON.stringify(await openapiDocument(), null, 2);
  await expect(`${document}\n`).toMatchFileSnapshot('../openapi.json');
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

/**
 * Addresses are kept by proxies, logs and browsers: what may stand in one is an id, a time, a word of a
 * list, a number, the name of an account or of an action, a cursor, and how a file is to be read.
 */
const IN_ADDRESSES = {
  ids: 'campaignId endpointId fieldId heldId importId jobId keyId leadId linkId otherId rejectedId runId sessionId submissionId workspaceId code',
  times: 'before from since to until',
  cursors: 'after',
  words: 'all by cause failed format kind reason replayed state subject',
  numbers: 'days history limit minutes perSecond',
  accounts: 'action actor name',
  files: 'delimiter dryRun encoding lenient map sheet timeColumn timeOffset timeZone',
};

test.each(['../openapi.json', '../../receiver/openapi.json'])(
  'no address of %s has room for what a person wrote',
  (file) => {
    const { paths } = JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8')) as {
      paths: Record<string, Record<string, { parameters?: { in: string; name: string }[] }>>;
    };
    const allowed = new Set(Object.values(IN_ADDRESSES).flatMap((names) => names.split(' ')));
    const others = Object.values(paths)
      .flatMap((path) => Object.values(path))
      .flatMap(({ parameters = [] }) => parameters)
      .filter((one) => one.in !== 'header' && !allowed.has(one.name));
    expect(others).toEqual([]);
  },
);
