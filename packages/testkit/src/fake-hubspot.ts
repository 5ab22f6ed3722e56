import { randomUUID } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import { listen } from '../../../scripts/servers/listen.js';

/** Of an account's private app: developers.hubspot.com/docs/developer-tooling/platform/usage-guidelines. */
const LIMIT = { requests: 50, withinMs: 10_000 };
const PROPERTIES = [
  ...['email', 'firstname', 'lastname', 'phone', 'jobtitle', 'address', 'zip', 'city', 'state'],
  'country',
];

interface Contact {
  id: string;
  properties: Record<string, string>;
}

interface FakeHubSpot {
  url: string;
  /** By email. */
  contacts: Map<string, Contact>;
  /** Ids that were deleted for good. */
  deleted: string[];
  /** Emails that were to be deleted for good: none of them is taken any more. */
  blocked: Set<string>;
  /** When each request came, by performance.now(), and the status of each that was refused. */
  times: number[];
  refused: number[];
  /** From now on what is upserted gets no answer: it is taken when `take` is called. Null: as before. */
  holdWith(next: ((take: () => void) => void) | null): void;
  properties(): Record<string, string>[];
  close(): Promise<void>;
}

/**
 * HubSpot's contacts as developers.hubspot.com/docs/api-reference documents them: batch/upsert, search,
 * gdpr-delete, their errors, and the limit of an account.
 */
export async function startFakeHubSpot(token: string): Promise<FakeHubSpot> {
  const contacts = new Map<string, Contact>();
  const deleted: string[] = [];
  const blocked = new Set<string>();
  let made = 0;
  const times: number[] = [];
  const refused: number[] = [];
  let hold: Parameters<FakeHubSpot['holdWith']>[0] = null;
  const answer = (response: ServerResponse, status: number, content: object | null): void => {
    if (status >= 400) refused.push(status);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(content === null ? undefined : JSON.stringify(content));
  };
  const failure = (category: string, message: string) => ({
    ...{ status: 'error', message, correlationId: randomUUID(), category },
  });
  const upsert = (body: unknown, response: ServerResponse): void => {
    const { inputs } = body as {
      inputs?: { id: string; idProperty?: string; properties: Record<string, unknown> }[];
    };
    if (!Array.isArray(inputs) || inputs.length === 0 || inputs.length > 100)
      return answer(response, 400, failure('VALIDATION_ERROR', 'inputs: 1 to 100'));
    const faults = inputs.flatMap(({ id, idProperty, properties }) => [
      ...(idProperty === 'email' && /^[^\s@]+@[^\s@]+$/.test(id) ? [] : ['INVALID_EMAIL']),
      ...(blocked.has(id.toLowerCase()) ? ['BLOCKED_EMAIL'] : []),
      ...Object.entries(properties).flatMap(([name, value]) =>
        PROPERTIES.includes(name)
          ? typeof value === 'string'
            ? []
            : ['INVALID_VALUE']
          : [`PROPERTY_DOESNT_EXIST ${name}`],
      ),
    ]);
    if (faults.length > 0)
      return answer(
        response,
        400,
        failure('VALIDATION_ERROR', `Property values were not valid: ${faults.join()}`),
      );
    const take = () =>
      inputs.flatMap(({ id, properties }) => {
        if (blocked.has(id.toLowerCase())) return [];
        const known = contacts.get(id.toLowerCase());
        const contact = known ?? { id: String(1_000 + made++), properties: {} };
        Object.assign(contact.properties, properties);
        contacts.set(id.toLowerCase(), contact);
        return [{ ...contact, archived: false, new: known === undefined }];
      });
    if (hold !== null) return hold(take);
    const at = new Date().toISOString();
    answer(response, 200, {
      ...{ status: 'COMPLETE', results: take(), startedAt: at, completedAt: at },
    });
  };
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => (text += part));
    request.on('end', () => {
      const now = performance.now();
      times.push(now);
      if (request.headers.authorization !== `Bearer ${token}`)
        return answer(response, 401, failure('INVALID_AUTHENTICATION', 'credentials not found'));
      if (times.filter((at) => at > now - LIMIT.withinMs).length > LIMIT.requests)
        return answer(response, 429, {
          ...{ status: 'error', errorType: 'RATE_LIMIT', policyName: 'TEN_SECONDLY_ROLLING' },
          message: 'You have reached your ten_secondly_rolling limit.',
        });
      const body: unknown = JSON.parse(text);
      switch (`${request.method} ${request.url}`) {
        case 'POST /crm/v3/objects/contacts/batch/upsert':
          return upsert(body, response);
        case 'POST /crm/v3/objects/contacts/search':
          return answer(response, 200, { total: 0, results: [] });
        case 'POST /crm/v3/objects/contacts/gdpr-delete': {
          const { objectId, idProperty } = body as { objectId: string; idProperty?: string };
          const byEmail = idProperty === 'email';
          if (byEmail) blocked.add(objectId);
          for (const [email, { id }] of contacts)
            if ((byEmail ? email : id) === objectId) {
              contacts.delete(email);
              deleted.push(id);
            }
          return answer(response, 204, null);
        }
        default:
          return answer(response, 404, failure('OBJECT_NOT_FOUND', 'no such path'));
      }
    });
  });
  const { url, close } = await listen(server);
  return {
    ...{ url, close, contacts, deleted, blocked, times, refused },
    holdWith: (next) => (hold = next),
    properties: () => [...contacts.values()].map(({ properties }) => properties),
  };
}
