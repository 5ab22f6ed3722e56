import type { Lead, OwnedIdentity, Submission } from '@leadgate/contract';
import { randomBytes } from 'node:crypto';

const EARLIEST_ORDER = 1_790_000_000_000_000;

/**
 * A reserved submission as a landing page's form gives it: a person, a workspace and a link, and a
 * body of about 450 bytes. Another `n` is another submission of another person, the same `n` the
 * very same.
 */
export function sampleSubmission(n = 0, change: Partial<Submission> = {}): Submission {
  const email = `maria.silva.${n.toString()}@example.com`;
  const phone = `55119${(80_000_000 + n).toString()}`;
  const leadId = change.leadId ?? `00000000-0000-4000-8000-${hex(n)}`;
  const order = change.order ?? EARLIEST_ORDER + n;
  const lead: Lead = {
    name: 'Maria Aparecida da Silva',
    email,
    telephone: phone,
    document: '12345678909',
    profession: 'Engenheira de software',
    city: 'São José do Rio Preto',
    state: 'SP',
    birthday: '1990-04-23',
    address: { street: 'Rua das Laranjeiras', number: '123', zipCode: '01310-100' },
    utmSource: 'instagram',
    utmMedium: 'cpc',
    utmCampaign: 'lancamento-outubro',
    customFields: { plano: 'pro', horario: 'manhã' },
  };
  return {
    id: `01998f0e-0000-7000-8000-${hex(n)}`,
    workspaceId: '11111111-1111-4111-8111-111111111111',
    linkId: '22222222-2222-4222-8222-222222222222',
    leadId,
    identities: [
      { key: `email:${email}`, owner: leadId },
      { key: `phone:+${phone}`, owner: leadId },
    ],
    order,
    stamp: order,
    source: 'post',
    lead,
    notes: [],
    body: JSON.stringify({ ...lead, telephone: `+${phone}`, document: '123.456.789-09' }),
    bodyType: 'json',
    page: 'https://landing.example.com/curso?utm_source=instagram&utm_medium=cpc',
    userAgent:
      'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1',
    address: '203.0.113.7',
    requestId: `req-${n.toString(36)}`,
    ...change,
  };
}

const hex = (n: number) => n.toString(16).padStart(12, '0');

let lastOrder = 1_700_000_000_000_000;

/** A submission of nothing but `lead`: of the next order, its keys those of the lead and owned by `leadId`. */
export function bareSubmission(
  given: Pick<Submission, 'workspaceId' | 'leadId'> & Partial<Submission>,
): Submission {
  const order = given.order ?? (lastOrder += 1_000);
  const lead = given.lead ?? {};
  return {
    id: idOfOrder(order),
    linkId: given.workspaceId,
    identities: keysOf(lead).map((key): OwnedIdentity => ({ key, owner: given.leadId })),
    order,
    stamp: order,
    source: 'post',
    lead,
    notes: [],
    body: JSON.stringify(lead),
    bodyType: 'json',
    ...given,
  };
}

/** A UUIDv7 of that time, in microseconds. */
function idOfOrder(order: number): string {
  const time = Math.floor(order / 1_000)
    .toString(16)
    .padStart(12, '0');
  const random = randomBytes(10).toString('hex');
  return [
    time.slice(0, 8),
    time.slice(8),
    `7${random.slice(0, 3)}`,
    `8${random.slice(3, 6)}`,
    random.slice(6, 18),
  ].join('-');
}

/** The keys of a lead, email first, without the rules of phones. */
export function keysOf({ email, telephone }: Lead): string[] {
  return [
    ...(email === undefined ? [] : [`email:${email}`]),
    ...(telephone === undefined ? [] : [`phone:+${telephone}`]),
  ];
}
