import { mapRules } from '@leadgate/leads';
import { verdictOn, type SendResult, type Verdict } from '../verdict.ts';
import type { Destination, DestinationSettings, Request } from './destination.ts';

export const HUBSPOT_URL = 'https://api.hubapi.com';

/**
 * A place where 50 requests in ten seconds are allowed never sees more at this rate, whichever ten seconds are
 * looked at.
 */
export const HUBSPOT_PER_SECOND = 5;

/** Properties that every account has (developers.hubspot.com/docs/api-reference/crm-properties-v3/guide). */
const RULES = {
  email: ['$.email'],
  firstname: ['$.name'],
  phone: ['$.telephoneE164', '$.telephone'],
  jobtitle: ['$.profession'],
  address: ['$.address.street'],
  zip: ['$.address.zipCode'],
  city: ['$.city', '$.address.city'],
  state: ['$.state', '$.address.state'],
  country: ['$.address.country'],
};

const TEN_SECONDS_MS = 10_000;
const HOUR_MS = 3_600_000;
const CONFIRM_AFTER_MS = 60_000;

/**
 * Contacts of HubSpot by its API, version 3: a batch of one is updated or created by its email
 * (developers.hubspot.com/docs/api-reference/legacy/crm/objects/contacts/batch/upsert-contacts), and the
 * contacts of an erased lead are deleted for good, one a delivery (…/contacts/gdpr-delete): by the ids that were
 * answered, then by its emails, which may have one whose answer was lost; an email that has none is refused there from
 * then on, and so is what was sent of it and is taken late. What a lead does not have stays as it is there. Limits: developers.hubspot.com/docs/developer-tooling/platform/usage-guidelines.
 */
export function hubspot({
  url,
  headers,
  secrets: [token = ''],
  mapping,
}: Omit<DestinationSettings, 'endpointId'>): Destination {
  const read = mapRules(mapping ?? RULES);
  const request = (path: string, content: object, answers: Request['read']): Request => ({
    kind: 'send',
    url: `${url.replace(/\/$/, '')}/crm/v3/objects/contacts/${path}`,
    headers: {
      ...headers,
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'user-agent': 'Leadgate',
    },
    body: JSON.stringify(content),
    read: answers,
  });
  return {
    lead: ({ event, data, remoteIds: [contact] }) => {
      if (event === 'lead.erased')
        return contact === undefined
          ? { kind: 'skip', detail: 'no contact of it is known' }
          : request(
              'gdpr-delete',
              { objectId: contact, ...(contact.includes('@') && { idProperty: 'email' }) },
              readErasure,
            );
      const properties = Object.fromEntries(
        Object.entries(read(data)).map(([name, value]) => [name, textOf(value)]),
      );
      const { email } = properties;
      if (email === undefined) return { kind: 'skip', detail: 'it has no email' };
      return request(
        'batch/upsert',
        { inputs: [{ idProperty: 'email', id: email, properties }] },
        readUpsert,
      );
    },
    alarm: () => ({ kind: 'skip', detail: 'it has no place for an alarm' }),
    // Finds nobody: the domain cannot exist (RFC 2606).
    test: () =>
      request(
        'search',
        {
          filterGroups: [
            { filters: [{ propertyName: 'email', operator: 'EQ', value: 'test@test.invalid' }] },
          ],
          properties: ['createdate'],
          limit: 1,
        },
        (result, now) => ({ verdict: verdictOf(result, now), remoteId: null }),
      ),
    confirmAfterMs: CONFIRM_AFTER_MS,
  };
}

/** Multiple choices are joined by semicolons there. */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join(';');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Postgres keeps no text with some characters that JSON can write. */
const CONTACT_ID = /^[\w-]{1,64}$/;

interface Answer {
  results?: { id?: unknown }[];
  errors?: unknown[];
  policyName?: string;
}

function readUpsert(result: SendResult, now: number): ReturnType<Request['read']> {
  const answer = answerOf(result);
  const verdict = verdictOf(result, now);
  const id = answer?.results?.[0]?.id;
  const remoteId = typeof id === 'string' && CONTACT_ID.test(id) ? id : null;
  // 207: each of the batch has an outcome of its own.
  const isRefused =
    result.kind === 'answered' &&
    result.status === 207 &&
    (answer === null || (answer.errors ?? []).length > 0);
  return { verdict: isRefused ? { kind: 'failed' } : verdict, remoteId };
}

function readErasure(result: SendResult, now: number): ReturnType<Request['read']> {
  const isGone = result.kind === 'answered' && result.status === 404;
  return { verdict: isGone ? { kind: 'delivered' } : verdictOf(result, now), remoteId: null };
}

/** Its 429 names the limit in its body, and says no time. */
function verdictOf(result: SendResult, now: number): Verdict {
  const verdict = verdictOn(result, now);
  // A path that went is no word of the account.
  if (verdict.kind === 'gone') return { kind: 'failed' };
  if (verdict.kind !== 'failed' || result.kind !== 'answered' || result.status !== 429)
    return verdict;
  const isDaily = answerOf(result)?.policyName === 'DAILY';
  return { kind: 'later', afterMs: isDaily ? HOUR_MS : TEN_SECONDS_MS };
}

function answerOf(result: SendResult): Answer | null {
  if (result.kind !== 'answered') return null;
  try {
    const parsed: unknown = JSON.parse(result.answer);
    return typeof parsed === 'object' ? parsed : null;
  } catch {
    return null;
  }
}
