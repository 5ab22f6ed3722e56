import { testDatabase } from '@leadgate/testkit';
import { expect, test } from 'vitest';
import { listAudit, recordAction } from './audit.ts';
import { openStore } from './open-store.ts';

test('an action is written, and so can be done, though what it names was cut in the middle of a letter', async () => {
  const database = await testDatabase();
  const store = openStore({ url: database.url, poolSize: 1 });
  try {
    const actor = { kind: 'command-line', name: 'ana' } as const;
    const subject = { label: `Festa ${'🎉'.slice(0, 1)}` };
    await recordAction(store, { actor, action: 'link.update', subject, requestId: null });
    expect(await listAudit(store, { limit: 1 })).toMatchObject([{ subject: { label: 'Festa �' } }]);
  } finally {
    await store.close();
    await database.drop();
  }
});
