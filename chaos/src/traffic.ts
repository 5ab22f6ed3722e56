import { setTimeout as delay } from 'node:timers/promises';
import type { System } from './system.ts';
import type { Ledger } from './ledger.ts';
import { nextPost, type Post } from './people.ts';
import type { Random } from './random.ts';

/** What the senders saw. */
export interface Traffic {
  /** Answers by status; 0 if there was none. */
  answers: Record<number, number>;
  /** Every post that was sent, by its number, and how often. */
  sent: Map<number, { post: Post; times: number }>;
  /** Posts that were due while too many were under way. */
  skipped: number;
  /** The longest time without a 202, and when it began after the first post, in milliseconds. */
  longestGapMs: number;
  longestGapAtMs: number;
  /** What was answered in it, by status. */
  longestGapAnswers: Record<number, number>;
  /** Milliseconds since 1970. */
  startedAt: number;
}

const ANSWER_WITHIN_MS = 3_000;
const MOST_UNDER_WAY = 400;
/** How long, after the last post, one is still sent again that nobody accepted. */
const PATIENCE_MS = 60_000;

/**
 * Posts at a steady rate until stopped: each to the next receiver, as behind a load balancer. One
 * with a key is sent again until it is accepted, and some once more after that; of those without,
 * some are given up. Resolves when nothing is under way any more.
 */
export function startTraffic(
  system: System,
  ledger: Ledger,
  random: Random,
  postsPerSecond: number,
): { stop: () => Promise<Traffic> } {
  const traffic: Traffic = {
    answers: {},
    sent: new Map(),
    skipped: 0,
    longestGapMs: 0,
    longestGapAtMs: 0,
    longestGapAnswers: {},
    startedAt: Date.now(),
  };
  const [first, ...others] = system.targets;
  if (first === undefined) throw new Error('there is no link to post to');
  let stopped = false;
  let giveUpAt = Infinity;
  let turn = 0;
  let posts = 0;
  let lastAccepted = Date.now();
  let answersSince: Record<number, number> = {};
  const underWay = new Set<Promise<void>>();

  async function send(post: Post): Promise<number> {
    const { url } = system.receivers[turn++ % system.receivers.length] ?? { url: '' };
    traffic.sent.set(post.post, { post, times: (traffic.sent.get(post.post)?.times ?? 0) + 1 });
    const status = await post202(url, post).catch(() => 0);
    traffic.answers[status] = (traffic.answers[status] ?? 0) + 1;
    if (status !== 202) answersSince[status] = (answersSince[status] ?? 0) + 1;
    return status;
  }

  async function post202(url: string, { post, key, target, body }: Post): Promise<number> {
    const response = await fetch(`${url}/ingest/${target.code}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(key !== null && { 'idempotency-key': key }),
      },
      body,
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    });
    const text = await response.text();
    if (response.status !== 202) return response.status;
    const { leadId } = JSON.parse(text) as { leadId: string };
    const submissionId = response.headers.get('submission-id') ?? '';
    const at = Date.now();
    ledger.add({ ...target, post, key, submissionId, leadId, body, at });
    if (at - lastAccepted > traffic.longestGapMs) {
      traffic.longestGapMs = at - lastAccepted;
      traffic.longestGapAtMs = lastAccepted - traffic.startedAt;
      traffic.longestGapAnswers = answersSince;
    }
    lastAccepted = at;
    answersSince = {};
    return response.status;
  }

  async function sendUntilAccepted(post: Post): Promise<void> {
    const repeats = random.chance(0.1);
    const patience = random.chance(0.5);
    while ((await send(post)) !== 202) {
      if ((post.key === null && !patience) || Date.now() > giveUpAt) return;
      await delay(random.between(200, 1_000));
    }
    if (post.key === null || !repeats || stopped) return;
    await delay(random.between(0, 2_000));
    await send(post);
  }

  const timer = setInterval(() => {
    // What a slow moment of this process left out is made up for.
    for (
      const due = Math.floor(((Date.now() - traffic.startedAt) / 1_000) * postsPerSecond);
      posts < due;
    ) {
      const post = nextPost(++posts, [first, ...others], random);
      if (underWay.size >= MOST_UNDER_WAY) {
        traffic.skipped++;
        continue;
      }
      const sending = sendUntilAccepted(post).finally(() => underWay.delete(sending));
      underWay.add(sending);
    }
  }, 10);

  return {
    stop: async () => {
      stopped = true;
      giveUpAt = Date.now() + PATIENCE_MS;
      clearInterval(timer);
      await Promise.all(underWay);
      return traffic;
    },
  };
}
