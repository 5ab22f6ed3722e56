import { deliver, type Accepted, type Delivery, type Rejected } from './delivery.ts';
import { digest } from './digest.ts';
import type { Lead } from './lead.ts';
import { forget, keep, sendUnsent } from './outbox.ts';
import type { Problem } from './problem.ts';
import { currentVisit, metaIds, type Visit } from './visit.ts';

export interface CaptureOptions {
  /** Where the service is, without a slash at the end: `https://leads.example.com`. */
  base: string;
  /**
   * Whether an unsent lead may be kept in localStorage (at most 10, for 7 days) and the visit in
   * sessionStorage. True unless said otherwise.
   */
  storage?: boolean;
  /**
   * Which touch of the visit a lead is given that has none of its own. The last
   * unless said otherwise; the service keeps the first one that it sees beside it.
   */
  touch?: 'last' | 'first';
  /**
   * Whether click ids, Meta's cookies, landing page and referrer are read, kept and sent. True unless
   * said otherwise: by a page whose visitor refuses.
   */
  attribution?: boolean;
  /** Made from the visit and the content unless given: the same content is one submission. */
  idempotencyKey?: string;
}

/** Not sent, but kept in this browser: nothing is lost, `resendUnsent` sends it. */
export interface Kept {
  kind: 'kept';
  problem: Problem;
}

/** What became of a lead. */
export type Sent = Accepted | Rejected | Kept;

/** Why there is no lead id. */
export type CaptureError = Error & (Rejected | Kept);

const ATTEMPTS = 4;

/** The problem of a lead that the service never answered to. */
const UNREACHABLE: Problem = { title: 'unreachable', status: 0, code: 'unreachable' };

/**
 * Sends a lead to a capture link and gives the id of the lead it became.
 *
 * Repeats what failed for want of network or capacity, for about 15 seconds, and hands the lead to
 * the browser when the page is left meanwhile. The same content sent again in a visit is one
 * submission.
 *
 * Rejects with a `CaptureError`: the service refused the lead (`problem.errors` names the bad
 * fields), or could not be reached.
 */
export async function capture(
  link: string,
  lead: Lead,
  options: CaptureOptions,
): Promise<Accepted> {
  const { storage = true, attribution = true } = options;
  const delivery = deliveryOf(link, lead, options, currentVisit(storage, attribution));
  // Before the first attempt: neither a crash nor a flat battery asks first.
  const kept = storage && keep(delivery);
  // An older lead must not arrive after a newer one and win over it.
  if (kept) await sendUnsent(delivery.key);
  const settled = await deliver(delivery, ATTEMPTS);
  if (kept && settled) forget(delivery.key);
  const sent = settled || { kind: kept ? 'kept' : 'rejected', problem: UNREACHABLE };
  if (sent.kind === 'accepted') return sent;
  throw Object.assign(new Error(sent.problem.title), sent);
}

function deliveryOf(link: string, lead: Lead, options: CaptureOptions, visit: Visit): Delivery {
  const { base, touch = 'last', attribution = true, idempotencyKey } = options;
  const url = `${base}/ingest/${link}`;
  const ownTouch =
    Object.entries(lead).some(([field, value]) => value && /^utm/.test(field)) ||
    Object.values(lead.attribution || {}).some(Boolean);
  const content = ownTouch ? { ...lead } : { ...lead, ...visit[touch] };
  const ids = attribution ? metaIds() : {};
  if (ids.fbc || ids.fbp) content.attribution = { ...content.attribution, ...ids };
  const key = idempotencyKey || `${visit.id}-${digest(url + JSON.stringify(content))}`;
  // How long the page had been open tells a person from a robot. No part of the content.
  const body = JSON.stringify({
    ...content,
    _idempotencyKey: key,
    _filledMs: performance.now() | 0,
  });
  return { url, body, key, at: Date.now() };
}
