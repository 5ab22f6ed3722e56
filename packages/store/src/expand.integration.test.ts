import { bareSubmission, testDatabase } from '@leadgate/testkit';
import pg from 'pg';
import { expect, test } from 'vitest';
import { randomUUID } from 'node:crypto';
import { applyGroup } from './apply/apply-group.ts';
import { showLead } from './lead-details.ts';
import { findLeads } from './leads.ts';
import { openStore } from './open-store.ts';
import { listSubmissions } from './submissions.ts';

/** What a migration may do while processes of the version before run: docs/deploy.md. */
const EXPANSION = `
  ALTER TABLE submission ADD COLUMN season text;
  ALTER TABLE lead ADD COLUMN score integer NOT NULL DEFAULT 0;
  ALTER TABLE identity ADD COLUMN verified_at timestamptz;
  CREATE TABLE season (id uuid PRIMARY KEY, name text NOT NULL);
  CREATE INDEX lead_score_idx ON lead (workspace_id, score);`;

test('a process that runs while a migration expands the tables goes on, on the connections it has', async () => {
  const database = await testDatabase();
  const store = openStore({ url: database.url, poolSize: 1 });
  const admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
  const workspaceId = randomUUID();
  const apply = (name: string) =>
    applyGroup(store, [
      {
        submission: bareSubmission({ workspaceId, leadId: randomUUID(), lead: { name } }),
        replay: false,
      },
    ]);
  try {
    await store.prisma.workspace.create({ data: { id: workspaceId, name: 'expanding' } });
    await apply('before');
    await findLeads(store, { name: 'before' }, 10);
    await admin.query(EXPANSION);
    const { applied } = await apply('after');
    expect(applied).toMatchObject([{ outcome: 'created' }]);
    expect(await findLeads(store, { name: 'after' }, 10)).toHaveLength(1);
    expect(await listSubmissions(store, {}, 10)).toHaveLength(2);
    const leadId = applied[0]?.leadId ?? '';
    expect(await showLead(store, leadId, { historyLimit: 10 })).toMatchObject({ submissions: 1 });
  } finally {
    await admin.end();
    await store.close();
    await database.drop();
  }
});
