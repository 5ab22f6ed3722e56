import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { DESTINATIONS, newSecret } from '@leadgate/delivery';
import { expect, test } from 'vitest';

// Runs what docs/deliveries.md shows, by programs that `npm run test:browser` finds or installs.
const page = readFileSync(new URL('../../../docs/deliveries.md', import.meta.url), 'utf8');

/** The only example in a language. */
function example(language: string): string {
  const found = [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].filter(
    ([, of]) => of === language,
  );
  expect(found).toHaveLength(1);
  return found[0]?.[2] ?? '';
}

const RUN: Record<string, (program: string) => [string, ...string[]]> = {
  js: (program) => [process.execPath, '--input-type=module', '--eval', program],
  python: (program) => ['python3', '-c', program],
  php: (program) => ['php', '-r', program.replace('<?php', '')],
  ruby: (program) => ['ruby', '-e', program],
  bash: (program) => ['bash', '--norc', '-c', program],
};

const LEAD = { leadId: '1', name: 'José 😀', note: 'two\nlines, "quoted" & 100%', version: 7 };

function message(secrets: string[]) {
  const place = DESTINATIONS.webhook({
    ...{ endpointId: 'e', url: 'https://crm.example', headers: {}, secrets },
  });
  const request = place.lead({
    ...{ id: 'msg_1', leadId: '1', event: 'lead.updated', version: 7, remoteIds: [] },
    ...{ timestamp: new Date().toISOString(), data: LEAD },
  });
  if (request.kind === 'skip') throw new Error(request.detail);
  return request;
}

async function run(
  language: string,
  { body, headers }: { body: string | Buffer; headers: Record<string, string> },
  secret: string,
): Promise<{ status: number | null; printed: string }> {
  const [program, ...args] = RUN[language]?.(example(language)) ?? expect.fail(language);
  const child = spawn(program, args, {
    env: {
      ...{ PATH: process.env['PATH'], WEBHOOK_SECRET: secret },
      HTTP_WEBHOOK_ID: headers['webhook-id'],
      HTTP_WEBHOOK_TIMESTAMP: headers['webhook-timestamp'],
      HTTP_WEBHOOK_SIGNATURE: headers['webhook-signature'],
    },
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (printed += text));
  child.stdin.on('error', () => undefined).end(body);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve({ status, printed }));
  });
}

test.each(Object.keys(RUN))(
  'the example in %s takes what is genuine and new, during a rotation too, and nothing else',
  async (language) => {
    const [old, current, other] = [newSecret(), newSecret(), newSecret()];
    const sent = message([current, old]);
    const yes = { status: 0, printed: '' };
    const no = { status: 1, printed: '' };
    const stale = { ...sent.headers, 'webhook-timestamp': '1700000000' };
    expect(await run(language, sent, current)).toEqual(yes);
    expect(await run(language, sent, old)).toEqual(yes);
    expect(await run(language, sent, other)).toEqual(no);
    expect(await run(language, { ...sent, body: `${sent.body.toString()} ` }, current)).toEqual(no);
    expect(await run(language, { ...sent, headers: stale }, current)).toEqual(no);
  },
);
