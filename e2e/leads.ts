import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { expect, onTestFinished } from 'vitest';
import type { System } from './system.ts';

export interface Answer {
  status: number;
  /** Of one that was not taken, these are empty. */
  leadId: string;
  submissionId: string;
  retryAfter: string | null;
}

/** Posts a lead to a capture link as a landing page does: a form, a text as it is, or anything as JSON. */
export async function post(
  receiver: { url: string } | undefined,
  code: string,
  lead: object | string,
  headers: Record<string, string> = {},
  withinMs = 10_000,
): Promise<Answer> {
  const isForm = lead instanceof URLSearchParams;
  const response = await fetch(`${receiver?.url}/ingest/${code}`, {
    method: 'POST',
    headers: { ...(!isForm && { 'content-type': 'application/json' }), ...headers },
    body: isForm || typeof lead === 'string' ? lead : JSON.stringify(lead),
    signal: AbortSignal.timeout(withinMs),
  });
  const { status, headers: told } = response;
  const { leadId = '' } = (await response.json()) as { leadId?: string };
  const submissionId = told.get('submission-id') ?? '';
  return { status, leadId, submissionId, retryAfter: told.get('retry-after') };
}

/** What a receiver warns of. */
export async function warningsOf({ url }: { url: string }): Promise<string[]> {
  const response = await fetch(`${url}/ready`);
  return ((await response.json()) as { warnings: string[] }).warnings;
}

/** Those of a spool that has leads. */
export const spoolWarnings = async (receiver: { url: string }): Promise<string[]> =>
  (await warningsOf(receiver)).filter((warning) => warning.includes('in the spool'));

/** Waits until a receiver has kept a link on its disk, for when Redis is away. */
export async function untilKept(code: string, spools: string, timeout = 1_000): Promise<void> {
  const kept = () => readFile(join(spools, 'links.ndjson'), 'utf8').catch(() => '');
  await expect.poll(kept, { timeout }).toContain(code);
}

/** Lead ids by submission id, as they stand. */
export async function storedLeads({ query }: Pick<System, 'query'>): Promise<Map<string, string>> {
  const rows = await query<{ id: string; lead_id: string }>('SELECT id, lead_id FROM submission');
  return new Map(rows.map(({ id, lead_id }) => [id, lead_id]));
}

/** The rows of all tables as text, with the names of their tables. */
export async function storedRows({ query }: Pick<System, 'query'>): Promise<[string, string][]> {
  const tables = await query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p')`,
  );
  const rows = tables.map(async ({ name }) => {
    const texts = await query<{ row: string }>(`SELECT t::text AS row FROM "${name}" t`);
    return texts.map(({ row }): [string, string] => [name, row]);
  });
  return (await Promise.all(rows)).flat();
}

/** No lead can be written until what is returned is called, the test is done, or Postgres has ended the session. */
export async function lockLeads(databaseUrl: string): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'test' });
  client.on('error', () => undefined);
  await client.connect();
  const end = () => client.end().catch(() => undefined);
  onTestFinished(end);
  await client.query('BEGIN');
  await client.query('LOCK TABLE lead IN EXCLUSIVE MODE');
  return end;
}
