import { messageId, signedHeaders } from '@leadgate/delivery';
import { openSealed, type DueDelivery, type Lane, type LeadContent } from '@leadgate/store';

/** What is posted to an endpoint. */
export interface Message {
  id: string;
  body: string;
  headers: Record<string, string>;
}

/** A lane whose secrets are open. */
export interface Signer {
  headers: Record<string, string>;
  secrets: string[];
}

/** Throws if they were encrypted under another key. */
export function openSigner(
  { headers, secrets }: Pick<Lane, 'headers' | 'secrets'>,
  key: Uint8Array,
): Signer {
  return {
    headers: headers === null ? {} : (JSON.parse(openSealed(headers, key)) as Signer['headers']),
    secrets: secrets.map((secret) => openSealed(secret, key)),
  };
}

/** The lead as it stands, signed: under the same id for as long as it stands so. */
export function leadMessage(
  endpointId: string,
  { leadId, event, resends, lead }: DueDelivery,
  signer: Signer,
): Message {
  const id = messageId({ endpointId, leadId, version: lead.version, resends });
  return message(id, { type: event, timestamp: lead.updatedAt, data: lead }, signer);
}

/** A message that says nothing of anybody. */
export function testMessage(endpointId: string, testId: string, signer: Signer): Message {
  const timestamp = new Date().toISOString();
  return message(
    `msg_test_${testId}`,
    { type: 'endpoint.test', timestamp, data: { endpointId } },
    signer,
  );
}

function message(id: string, content: object, { headers, secrets }: Signer): Message {
  const body = JSON.stringify(content);
  const seconds = Math.floor(Date.now() / 1_000);
  return {
    id,
    body,
    headers: {
      ...headers,
      'content-type': 'application/json',
      'user-agent': 'Leadgate',
      ...signedHeaders(secrets, { id, seconds, body }),
    },
  };
}

const NO_VALUES = new Set(['leadId', 'workspaceId', 'createdAt', 'updatedAt']);

/** The values of a lead that an answer may repeat, and the words of its name. */
export function valuesOf(lead: LeadContent): string[] {
  const values: string[] = lead.name?.split(/\s+/) ?? [];
  JSON.stringify(lead, (name, value: unknown) => {
    if (NO_VALUES.has(name)) return undefined;
    if (typeof value === 'string') values.push(value);
    return value;
  });
  return values;
}
