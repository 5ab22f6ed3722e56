import { randomUUID } from 'node:crypto';
import { contactKeys, contactsIn, normalized } from '@leadgate/leads';
import { erasureKeyState, findWorkspace, showLead, type Workspace } from '@leadgate/store';
import { Type } from 'typebox';
import { invalid, operation, Refusal, type Connections } from './operation.ts';
import { Uuid } from './schema.ts';

const Count = Type.Integer();
const contact = Type.Optional(Type.String({ minLength: 1, maxLength: 300 }));

interface Named {
  leadId?: string;
  email?: string;
  telephone?: string;
}

/** Everything about a person goes, for good. */
export const eraseLead = operation({
  name: 'lead.erase',
  id: 'eraseLead',
  method: 'POST',
  path: '/workspaces/:workspaceId/erasures',
  summary:
    'Erase everything about a person, by any id of their lead, their email or their telephone',
  description:
    'What they sent until now is gone, and dropped if it comes again. Ids that were answered say when and why it was erased: the reason stays, and may say nothing about the person. A later post of the person begins a new lead.',
  role: 'administrator',
  // The same again finishes what failed on its way.
  afterErasure: true,
  subject: ['leadId'],
  input: Type.Object({
    workspaceId: Uuid,
    leadId: Type.Optional(Uuid),
    email: contact,
    telephone: contact,
    reason: Type.String({ minLength: 1, maxLength: 500 }),
    dryRun: Type.Optional(
      Type.Boolean({ description: 'Count what would go, and change nothing.' }),
    ),
  }),
  output: Type.Object({
    leadId: Uuid,
    aliases: Type.Array(Uuid, { description: 'Other ids that were answered for them.' }),
    counts: Type.Object({
      leads: Count,
      identities: Count,
      submissions: Count,
      consents: Type.Integer({ description: 'Proofs that stay, without what is about them.' }),
      possibleDuplicates: Count,
      rejected: Count,
      held: Count,
      discarded: Count,
      records: Type.Integer({ description: 'Answers that Redis keeps for idempotency keys.' }),
      failed: Type.Integer({ description: 'Jobs that are out of attempts, or wait for another.' }),
    }),
    others: Type.Array(Uuid, {
      description: 'Leads that one post named together with theirs: look whether they are theirs.',
    }),
    inLedger: Type.Boolean({
      description: 'Whether it is applied again if an older dump comes back.',
    }),
  }),
  run: async ({ workspaceId, reason, dryRun = false, ...named }, connections, call) => {
    const { store, erasureLedger } = connections;
    const unready = await whyNotReady(store);
    if (unready !== null) return unready;
    const workspace = await findWorkspace(store, workspaceId);
    if (workspace === null)
      return new Refusal('not-found', `No workspace has the id ${workspaceId}.`);
    const whom = await findPerson(connections, workspace, named);
    if (whom instanceof Refusal) return whom;
    if (await saysWho(connections, workspace, { ...whom, reason })) return SAYS_WHO;
    const redis = await connections.redis();
    // With the queue behind them: loaded by who erases, not with every command about leads.
    const [{ takeOrder }, { eraseEverywhere }, { appendErasure }] = await Promise.all([
      import('@leadgate/intake'),
      import('./erasure.ts'),
      import('./erasure.ts'),
    ]);
    const { erasure, counts, others } = await eraseEverywhere(
      { store, redis },
      {
        ...whom,
        ...{ workspaceId, offeredLeadId: randomUUID(), order: await takeOrder(redis, workspaceId) },
        ...{ reason: reason.trim(), erasedBy: call.actor.name, erasedAt: new Date() },
      },
      {
        dryRun,
        record: async (one) => {
          if (erasureLedger !== null) await appendErasure(erasureLedger, one);
        },
      },
    );
    if (!dryRun && erasureLedger === null)
      call.warn('an older dump that is put back brings the person back: set ERASURE_LEDGER', null);
    const { leadId, aliases } = erasure;
    return { leadId, aliases, counts, others, inLedger: erasureLedger !== null };
  },
});

async function whyNotReady(store: Connections['store']): Promise<Refusal | null> {
  if (store.erasureKey === null)
    return new Refusal(
      'unavailable',
      'Nobody can be erased before ERASURE_KEY is set, for workers too: 32 characters or more that stay secret and the same.',
    );
  if ((await erasureKeyState(store)) === 'fits') return null;
  return new Refusal(
    'unavailable',
    'ERASURE_KEY is another one than people were erased under before: what comes late of them would not be dropped.',
  );
}

/** The leads of whom is named, and what they are known by. */
async function findPerson(
  { store, redis }: Connections,
  { id: workspaceId, country }: Workspace,
  named: Named,
): Promise<{ leadIds: string[]; identities: string[] } | Refusal> {
  const [[kind, value] = ['', ''], ...more] = Object.entries(named);
  if (kind === '' || more.length > 0)
    return refuse(kind, 'Say whom by one of leadId, email and telephone.');
  if (named.leadId !== undefined) {
    const lead = await showLead(store, named.leadId, { historyLimit: 1 });
    if (lead?.workspaceId === workspaceId) return { leadIds: [lead.leadId], identities: [] };
    return new Refusal(
      'not-found',
      `No lead of the workspace has the id ${named.leadId}; if it was answered just now its job may still wait: name the person by email or telephone.`,
    );
  }
  const keys = contactKeys(
    kind === 'email' ? { email: String(value) } : { telephone: String(value) },
    [{ id: workspaceId, country }],
  );
  if (keys === null) return refuse(kind, `It is not a whole ${kind}.`);
  const identities = keys.identities.map(({ key }) => key);
  const { ownersInRedis } = await import('@leadgate/intake');
  // Whose jobs wait may be no lead yet.
  return { leadIds: await ownersInRedis(await redis(), workspaceId, identities), identities };
}

const refuse = (member: string, detail: string): Refusal =>
  invalid([{ pointer: `/${member}`, code: 'invalid', detail }]);

const SAYS_WHO = refuse(
  'reason',
  'The reason stays for good: say it without name, email or telephone of the person.',
);

async function saysWho(
  { store }: Connections,
  { country }: Workspace,
  { reason, leadIds, identities }: { reason: string; leadIds: string[]; identities: string[] },
): Promise<boolean> {
  const said = new Set(contactsIn(reason, country));
  const words = new Set(wordsOf(reason));
  const leads = await Promise.all(leadIds.map((id) => showLead(store, id, { historyLimit: 1 })));
  const known = leads.flatMap((lead) =>
    (lead?.identities ?? []).map(({ kind, value }) => `${kind}:${value}`),
  );
  const names = leads.flatMap((lead) => wordsOf(lead?.name ?? ''));
  return (
    [...identities, ...known].some((identity) => said.has(identity)) ||
    names.some((word) => word.length > 2 && words.has(word))
  );
}

const wordsOf = (text: string): string[] =>
  normalized(text, 'NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u);
