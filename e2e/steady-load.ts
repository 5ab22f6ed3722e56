import { setTimeout as delay } from 'node:timers/promises';

/** What the senders saw. */
export interface Load {
  /** Answers by status; 0 where there was none. */
  answers: Record<number, number>;
  /** Lead ids by submission id, as they were answered with 202. */
  accepted: Map<string, string>;
  /** The longest time without a 202, in milliseconds. */
  longestGapMs: number;
}

const ANSWER_WITHIN_MS = 10_000;

/**
 * Posts at a steady rate, each a person of its own, until stopped: to the addresses in turn, one after
 * the other. Nothing is sent twice. Resolves when all have their answers.
 */
export function startLoad(
  urls: () => readonly string[],
  { code, perSecond }: { code: string; perSecond: number },
): { soFar: Load; stop: () => Promise<Load> } {
  const load: Load = { answers: {}, accepted: new Map(), longestGapMs: 0 };
  const underWay = new Set<Promise<void>>();
  let posts = 0;
  let lastAccepted = Date.now();
  let stopped = false;

  async function post(n: number): Promise<void> {
    const targets = urls();
    const status = await send(`${targets[n % targets.length]}/ingest/${code}`, n).catch(() => 0);
    load.answers[status] = (load.answers[status] ?? 0) + 1;
  }

  async function send(url: string, n: number): Promise<number> {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: `load-${n}@example.com`, name: `Person ${n}` }),
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    });
    const { leadId = '' } = (await response.json()) as { leadId?: string };
    if (response.status !== 202) return response.status;
    load.accepted.set(response.headers.get('submission-id') ?? '', leadId);
    load.longestGapMs = Math.max(load.longestGapMs, Date.now() - lastAccepted);
    lastAccepted = Date.now();
    return response.status;
  }

  const posting = (async () => {
    const start = Date.now();
    while (!stopped) {
      // What a slow moment of this process left out is made up for.
      for (const due = ((Date.now() - start) / 1_000) * perSecond; posts < due;) {
        const one = post(posts++).finally(() => underWay.delete(one));
        underWay.add(one);
      }
      await delay(10);
    }
  })();

  return {
    soFar: load,
    stop: async () => {
      stopped = true;
      await posting;
      await Promise.all(underWay);
      return load;
    },
  };
}
