import { createServer, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Keyring } from '@leadgate/boot';
import { LEAD_EVENTS } from '@leadgate/contract';
import { newSecret } from '@leadgate/delivery';
import { createEndpoint, openStore, setEndpointState, type Store } from '@leadgate/store';
import { Webhook } from 'standardwebhooks';
import { listen } from '../../scripts/servers/listen.js';
import { withPostgres } from '../../scripts/servers/session.js';

/** What deliverers open the endpoints' secrets with. */
export const SECRETS_KEY = 'a key of thirty-two characters or more';

/** How an endpoint is broken. */
const MANNERS = ['down', 'hangs', '500', '429', '410', 'cut'] as const;
type Manner = (typeof MANNERS)[number];

/** What an endpoint keeps of a lead: the highest version, as docs/deliveries.md asks. */
export interface Kept {
  version: number;
  /** Of what it was told, as it was told. */
  told: string;
}

/** What a receiver of leads has in the end. */
export interface Received {
  workspaceId: string;
  known: ReadonlyMap<string, Kept>;
  /** Ids that ended, with their last versions. */
  ended: ReadonlyMap<string, number>;
  /** Messages that were taken, repeated ones too. */
  messages: number;
  /** Of messages: wrongly signed, or one version told in two ways. */
  faults: readonly string[];
}

/** A receiver of leads in this process, which verifies what comes, and can be broken. */
export async function openEndpoint(name: string, workspaceId: string, databaseUrl: string) {
  const secret = newSecret();
  const known = new Map<string, Kept>();
  const ended = new Map<string, number>();
  const faults: string[] = [];
  let messages = 0;
  let manner: Manner | null = null;

  function take(body: string, headers: Record<string, string>): void {
    try {
      new Webhook(secret).verify(body, headers);
    } catch {
      faults.push(`a message to ${name} is not signed as it should be`);
      return;
    }
    const { type, data } = JSON.parse(body) as { type: string; data: Told };
    if (type === 'endpoint.test') return;
    messages += 1;
    const { leadId, version } = data;
    const told = toldOf(data);
    const before = known.get(leadId);
    if (before?.version === version && before.told !== told)
      faults.push(`version ${version} of lead ${leadId} was told in two ways`);
    if (before === undefined || before.version < version) known.set(leadId, { version, told });
    for (const one of data.mergedLeads)
      ended.set(one.leadId, Math.max(one.version, ended.get(one.leadId) ?? 0));
  }

  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      // One that never answers, or not to the end, may have taken it.
      if (manner === null || manner === 'hangs' || manner === 'cut')
        take(body, request.headers as Record<string, string>);
      answer(response, manner);
    });
  });
  const { port, url, close } = await listen(server);
  const id = await withStore(databaseUrl, async (store) => {
    const made = await createEndpoint(
      store,
      workspaceId,
      {
        ...{ name, url, headers: {}, mapping: null, linkIds: [] },
        ...{ events: [...LEAD_EVENTS], perSecond: null, concurrency: 4 },
      },
      { secret, keyring: new Keyring(SECRETS_KEY) },
    );
    if (made.kind !== 'done') throw new Error(`endpoint: ${made.kind}`);
    return made.endpoint.id;
  });

  return {
    ...{ name, workspaceId, known, ended, faults },
    get messages() {
      return messages;
    },
    breakFor: async (nth: number, forMs: number): Promise<void> => {
      manner = MANNERS[nth % MANNERS.length] ?? null;
      if (manner === 'down') await close();
      await delay(forMs);
      if (manner === 'down') await listen(server, port);
      manner = null;
      server.closeAllConnections();
    },
    /** As an operator does once it is well: what waits is due at once. */
    resume: () =>
      withStore(databaseUrl, async (store) => {
        await setEndpointState(store, id, 'paused');
        await setEndpointState(store, id, 'active');
      }),
    close,
  };
}

function answer(response: ServerResponse, manner: Manner | null): void {
  if (manner === 'hangs') return;
  if (manner === 'cut') {
    response.writeHead(200, { 'content-length': '100' });
    response.write('in the middle', () => response.destroy());
    return;
  }
  if (manner === '429') response.setHeader('retry-after', '1');
  response.writeHead(manner === null || manner === 'down' ? 204 : Number(manner)).end();
}

async function withStore<T>(url: string, use: (store: Store) => Promise<T>): Promise<T> {
  const store = openStore({ url, poolSize: 1 });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

interface Told {
  leadId: string;
  version: number;
  name?: string;
  email?: string;
  telephone?: string;
  city?: string;
  mergedLeads: { leadId: string; version: number }[];
}

const toldOf = ({ name, email, telephone, city }: Partial<Told>): string =>
  JSON.stringify([name, email, telephone, city].map((value) => value ?? null));

/** What endpoints have, held against what stands. */
export interface DeliveryAudit {
  messages: number;
  /** Leads of which an endpoint does not have the latest version. */
  undelivered: number;
  /** Leads of which an endpoint has another state than the one of that version. */
  staleWins: number;
  violations: string[];
}

/** Whether each endpoint has each lead of its workspace as it stands, and no other. */
export async function auditDeliveries(
  databaseUrl: string,
  endpoints: readonly Received[],
): Promise<DeliveryAudit> {
  const result: DeliveryAudit = { messages: 0, undelivered: 0, staleWins: 0, violations: [] };
  await withPostgres(databaseUrl, async (client) => {
    for (const { workspaceId, known, ended, messages, faults } of endpoints) {
      result.messages += messages;
      result.violations.push(...faults);
      const { rows } = await client.query<Told & { id: string }>(
        `SELECT id, version, name, email, telephone, city FROM lead
         WHERE workspace_id = $1 AND merged_into IS NULL AND version > 0`,
        [workspaceId],
      );
      const stands = new Map(rows.map((row) => [row.id, row]));
      for (const [id, row] of stands) {
        const kept = known.get(id);
        if (kept === undefined || kept.version < row.version) {
          result.undelivered += 1;
          result.violations.push(
            `lead ${id} stands at version ${row.version}, and an endpoint has ${kept?.version ?? 'none'}`,
          );
        } else if (kept.version > row.version || kept.told !== toldOf(row)) {
          result.staleWins += 1;
          result.violations.push(`an endpoint has another lead ${id} than the one that stands`);
        }
      }
      for (const [id, { version }] of known)
        if (!stands.has(id) && (ended.get(id) ?? 0) <= version)
          result.violations.push(`an endpoint still has lead ${id}, which ended`);
    }
  });
  return result;
}
