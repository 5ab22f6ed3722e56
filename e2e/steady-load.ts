import { setTimeout as delay } from 'node:timers/promises';

/** What the senders saw. */
export interface Load {
  /** Answers by status; 0 if there was none. */
  answers: Record<number, number>;
  /** What came instead of a 202, a few of them: when (ms after the start), from whom, and what. */
  refusals: string[];
  /** Lead ids by submission id, as they were answered with 202. */
  accepted: Map<string, string>;
  /** The longest time without a 202, in milliseconds. */
  longestGapMs: number;
}

const ANSWER_WITHIN_MS = 10_000;
const REFUSALS_KEPT = 20;

/**
 * Posts at a steady rate, each a person of its own (of another load with another name), until stopped:
 * to the addresses in turn. Nothing is sent twice. Resolves when all have their answers.
 */
export function startLoad(
  urls: () => readonly string[],
  { code, perSecond, name = 'load' }: { code: string; perSecond: number; name?: string },
): { soFar: Load; stop: () => Promise<Load> } {
  const load: Load = { answers: {}, refusals: [], accepted: new Map(), longestGapMs: 0 };
  const underWay = new Set<Promise<void>>();
  let posts = 0;
  let lastAccepted = Date.now();
  let stopped = false;

  const start = Date.now();
  const refused = (url: string, what: unknown): void => {
    if (load.refusals.length < REFUSALS_KEPT)
      load.refusals.push(`${Date.now() - start} ms, ${url}: ${String(what)}`);
  };

  async function post(n: number): Promise<void> {
    const targets = urls();
    const url = `${targets[n % targets.length]}/ingest/${code}`;
    const status = await send(url, n).catch((error: unknown) => {
      refused(url, error instanceof Error ? (error.cause ?? error) : error);
      return 0;
    });
    load.answers[status] = (load.answers[status] ?? 0) + 1;
  }

  async function send(url: string, n: number): Promise<number> {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: `${name}-${n}@example.com`, name: `Person ${n}` }),
      signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
    });
    const text = await response.text();
    if (response.status !== 202) {
      refused(url, text);
      return response.status;
    }
    const { leadId } = JSON.parse(text) as { leadId: string };
    load.accepted.set(response.headers.get('submission-id') ?? '', leadId);
    load.longestGapMs = Math.max(load.longestGapMs, Date.now() - lastAccepted);
    lastAccepted = Date.now();
    return response.status;
  }

  const posting = (async () => {
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
