import type { Problem } from './problem.ts';

/** A lead on its way: the bytes that every attempt and beacon sends, and a later visit with its age. */
export interface Delivery {
  url: string;
  /** JSON, with `_idempotencyKey` in it. */
  body: string;
  key: string;
  /** Milliseconds since 1970. */
  at: number;
}

export interface Accepted {
  kind: 'accepted';
  leadId: string;
}

export interface Rejected {
  kind: 'rejected';
  /** `code` is `unreachable` if the service did not answer and the lead could not be kept. */
  problem: Problem;
}

/** What the service said of a lead. */
export type Settled = Accepted | Rejected;

const ANSWER_WITHIN = 10_000;
/** How long a visitor looks at a disabled button before the lead is put aside for later. */
const PATIENCE = 15_000;

const underWay = new Set<string>();

/** Until when the service asked to be left alone, milliseconds since 1970. */
let quietUntil = 0;

/** Whether nothing speaks against a delivery now: not itself under way, nor a Retry-After. */
export function isDue({ key }: Delivery): boolean {
  return !underWay.has(key) && Date.now() >= quietUntil;
}

/**
 * Sends a lead, and again what failed for want of network or capacity: with growing, scattered
 * pauses, and never before `Retry-After`. Undefined: the service could not be reached. Never
 * rejects.
 */
export async function deliver(delivery: Delivery, attempts: number): Promise<Settled | undefined> {
  const { url, body, key } = delivery;
  const until = Date.now() + PATIENCE;
  // The page is left before there was an answer: the browser takes the lead over. It may arrive
  // twice then, and the key makes it one.
  const leave = () => navigator.sendBeacon(url, body);
  addEventListener('pagehide', leave);
  underWay.add(key);
  for (let backoff = 250; ; backoff *= 2) {
    const settled = await attempt(url, body);
    const next = Math.max(Date.now(), quietUntil) + backoff * (1 + Math.random());
    if (settled || !--attempts || next > until) {
      removeEventListener('pagehide', leave);
      underWay.delete(key);
      return settled;
    }
    await new Promise((resolve) => setTimeout(resolve, next - Date.now()));
  }
}

/**
 * One POST. A string goes as text/plain, which needs no preflight: one round trip less on a phone's
 * network, and nothing for a proxy to refuse. That is why the key is in the body.
 */
async function attempt(url: string, body: string): Promise<Settled | undefined> {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), ANSWER_WITHIN);
  try {
    const response = await fetch(url, {
      method: 'POST',
      body,
      credentials: 'omit',
      // Browsers refuse more than 64 KiB of it in flight.
      keepalive: body.length < 2e4,
      signal: abort.signal,
    });
    const { status, headers } = response;
    // In seconds, as the service gives it; a date (RFC 9110, 10.2.3) counts as none.
    quietUntil = Date.now() + (+headers.get('Retry-After')! * 1000 || 0);
    const { leadId, ...problem } = (await response.json()) as Problem & { leadId?: string };
    if (leadId) return { kind: 'accepted', leadId };
    // Without a code it is not the service that speaks, but something on the way to it.
    if (problem.code && status < 500 && status !== 429) return { kind: 'rejected', problem };
  } catch {
    // No network, no permission to read the answer, no answer in time, or not JSON.
  } finally {
    clearTimeout(timer);
  }
  return undefined;
}
