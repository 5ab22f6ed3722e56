import { setTimeout as delay } from 'node:timers/promises';
import { type Keyring, type Logger, traced } from '@leadgate/boot';
import {
  backoffMs,
  createSender,
  DISABLED_AFTER_MS,
  keptAnswer,
  pauseMs,
  RateWindow,
  type Destination,
  type Guard,
  type Sender,
  type SendResult,
  type Verdict,
} from '@leadgate/delivery';
import {
  dueDeliveries,
  failureOf,
  recordTest,
  recordTries,
  type DeliveryTry,
  type DueDelivery,
  type Lane,
  type SentDelivery,
  type Store,
} from '@leadgate/store';
import { openDestination, requestOf, valuesOf } from './message.ts';
import { SHARES, type DelivererMetrics } from './metrics.ts';

interface LaneOptions {
  store: Store;
  /** The deliverer that holds the lane, and until when it surely does (as `performance.now()`). */
  owner: string;
  heldUntil: () => number;
  guard: Guard;
  /** What the endpoint's secrets are encrypted under. */
  keyring: Keyring;
  timeoutMs: number;
  metrics: Pick<DelivererMetrics, 'observe'>;
  logger: Logger;
}

/**
 * Without a rate, so many times the concurrency are read at once: reading is then no pause. More, up to the most, if
 * an endpoint takes them while they are news.
 */
const READ_AHEAD = 8;
const MOST_READ_AHEAD = 64;
/** What was read is news for so long. */
const FRESH_MS = 250;
/** Of what an endpoint would take meanwhile, so much is read: some takes longer. */
const READ_SHARE = 0.8;
/** Postgres is away: what came of sends is written when it is back. */
const WRITE_AGAIN_MS = 500;
/** What ends meanwhile is written together. */
const WRITE_APART_MS = 100;
/** At a stop, beyond what sends have. */
const LAST_WRITE_MS = 1_000;
/** What is due later than this needs no lane until then. */
const SOON_MS = 10_000;

/**
 * Sends the deliveries of one endpoint, at its pace and in its circuit: what happens to one costs the others
 * nothing. All times are of `performance.now()`.
 */
export class LaneRunner {
  readonly #options: LaneOptions;
  readonly #window: RateWindow;
  #lane: Lane;
  #destination: Destination | null = null;
  #sender: Sender;
  /** When the next delivery is due; null: none that is known. */
  #dueAt: number | null = null;
  /** Whether a lead may be due again that was in hand at the last look. */
  #mayHaveChanged = false;
  #failures = 0;
  #quietUntil = 0;
  /** Failures of sends that began before are counted already. */
  #failedAt = 0;
  #disabled: string | null = null;
  #warnedShare = '';
  /** Whether it was said that Postgres refuses a write, since the last that it took. */
  #toldRefusal = false;
  /** Whether it was said that the endpoint cannot be opened, since it last could. */
  #toldShut = false;

  /** Leads that are being sent, or whose outcome is not written yet. */
  readonly #inHand = new Set<string>();
  #underWay = 0;
  #ready: DueDelivery[] = [];
  #readAt = 0;
  /** How many were read the last time. */
  #readCount = 0;
  #outcomes: SentDelivery[] = [];
  #writing: Promise<void> | null = null;
  #wroteAt = 0;
  #working = false;
  #again = false;
  #testing = false;
  #timer: NodeJS.Timeout | undefined;
  #idleAt: number | null = null;
  #closed = false;
  #givenUp = false;
  #tellIdle: (() => void)[] = [];

  constructor(lane: Lane, options: LaneOptions) {
    this.#options = options;
    this.#lane = lane;
    this.#window = new RateWindow(lane.perSecond);
    this.#sender = this.#createSender();
  }

  /** Goes on with the lane as Postgres had it at a time. */
  update(lane: Lane, readAt: number): void {
    const before = this.#lane;
    this.#lane = lane;
    this.#openDestination();
    this.#window.setRate(lane.perSecond);
    if (lane.concurrency !== before.concurrency) {
      const old = this.#sender;
      this.#sender = this.#createSender();
      void this.#waitForSends().then(() => old.close());
    }
    // While something is in hand this process knows better.
    if (this.#inHand.size === 0 && readAt > this.#wroteAt) {
      this.#failures = lane.failures;
      this.#quietUntil = now() + Math.max(lane.quietMs, 0);
      this.#disabled = null;
    }
    this.#dueAt = lane.dueMs === null ? null : now() + Math.max(lane.dueMs, 0);
    // What is in hand is due until its outcome is written, and again if it changed meanwhile.
    this.#mayHaveChanged = this.#inHand.size > 0 && this.#dueAt !== null;
    if (lane.testId !== null) void this.#test(lane.testId);
    void this.#work();
  }

  /** Since when there has been nothing to do; null: there is. */
  get idleSince(): number | null {
    return this.#idleAt;
  }

  /** For how long nobody else may send after this one. Milliseconds. */
  get restMs(): number {
    const { perSecond } = this.#lane;
    return perSecond === null ? 0 : Math.max(1_000, 1_000 / perSecond);
  }

  /**
   * Starts nothing more, waits for what is under way, for so long, and writes what came of it. What hangs
   * longer, or is not written by then, is sent again by the next owner, under the same id. Resolves with whether
   * something is.
   */
  async close(withinMs: number): Promise<boolean> {
    this.#closed = true;
    clearTimeout(this.#timer);
    const late = delay(withinMs, undefined, { ref: false });
    await Promise.race([this.#waitForSends(), late]);
    this.#givenUp = true;
    await this.#sender.close();
    await Promise.race([this.#write(), delay(LAST_WRITE_MS, undefined, { ref: false })]);
    return this.#inHand.size > 0;
  }

  /** Starts what can be started, until nothing is due or there is no room. One at a time. */
  async #work(): Promise<void> {
    if (this.#working) {
      this.#again = true;
      return;
    }
    this.#working = true;
    try {
      do {
        this.#again = false;
        while (this.#room() > 0) {
          if (this.#ready.length > 0 && now() - this.#readAt > FRESH_MS) {
            this.#readCount -= this.#ready.length;
            this.#ready = [];
            this.#dueAt = now();
          }
          if (this.#ready.length === 0 && this.#dueAt !== null && this.#dueAt <= now())
            await this.#read();
          const due = this.#ready.splice(0, this.#room());
          if (due.length === 0) break;
          for (const one of due) void this.#send(one);
        }
      } while (this.#again);
    } catch (error) {
      // The next look goes on.
      this.#noteFailure(error, 'could not read what is due');
    } finally {
      this.#working = false;
    }
    this.#rest();
  }

  /** How many sends may start now. */
  #room(): number {
    const { active, concurrency } = this.#lane;
    const may = active && this.#disabled === null && !this.#closed && this.#destination !== null;
    if (!may || now() >= this.#options.heldUntil() || now() < this.#quietUntil) return 0;
    // What Postgres has not written yet is bounded too.
    if (this.#inHand.size >= concurrency * MOST_READ_AHEAD) return 0;
    const most = this.#isProbing() ? 1 : concurrency;
    return Math.max(Math.min(most - this.#underWay, this.#window.places(now())), 0);
  }

  /** After an endpoint failed too often it is sent one at a time, until it takes one. */
  #isProbing(): boolean {
    return pauseMs(this.#failures, 1) > 0;
  }

  async #read(): Promise<void> {
    const { store, owner } = this.#options;
    const { endpointId, perSecond } = this.#lane;
    const freshFirst = this.#isProbing();
    const limit = perSecond === null && !freshFirst ? this.#readAhead() : this.#room();
    const except = [...this.#inHand];
    this.#dueAt = null;
    const lane = { owner, endpointId };
    this.#ready = await dueDeliveries(store, lane, { limit, except, freshFirst });
    this.#readAt = now();
    this.#readCount = this.#ready.length;
    // There may be more. What is due later, the next look tells.
    if (this.#readCount >= limit) this.#dueAt = now();
  }

  /** As many as it takes while they are news, if it goes on as with the last ones. */
  #readAhead(): number {
    const { concurrency } = this.#lane;
    const perMs = this.#readCount / Math.max(now() - this.#readAt, 1);
    const many = Math.round(READ_SHARE * FRESH_MS * perMs);
    return Math.min(Math.max(many, concurrency * READ_AHEAD), concurrency * MOST_READ_AHEAD);
  }

  /** Goes on by itself when a place of the rate comes free, a pause ends, or something is due. */
  #rest(): void {
    clearTimeout(this.#timer);
    const dueAt = this.#dueAt === null ? null : Math.max(this.#dueAt, this.#quietUntil);
    const isBusy = this.#inHand.size > 0 || this.#writing !== null || this.#testing;
    // One that cannot be opened here is left to another deliverer.
    const isSoon =
      this.#lane.active && this.#destination !== null && dueAt !== null && dueAt < now() + SOON_MS;
    this.#idleAt = isBusy || isSoon ? null : (this.#idleAt ?? now());
    if (this.#closed || !isSoon) return;
    // Without a time of its own, an answer goes on.
    const next = Math.max(dueAt, this.#window.nextAt(now()) ?? 0);
    if (next <= now() && this.#room() === 0) return;
    this.#timer = setTimeout(() => void this.#work(), Math.max(next - now(), 1));
  }

  async #send(due: DueDelivery): Promise<void> {
    if (this.#destination === null) return;
    const { leadId, event, resends, version } = due;
    const startedAt = now();
    const { confirmAfterMs } = this.#destination;
    const { id, request } = requestOf(this.#destination, this.#lane.endpointId, due);
    this.#inHand.add(leadId);
    if (request.kind === 'skip') {
      const of = { leadId, event, resends, version, messageId: id };
      const facts = { outcome: 'skipped', status: null, detail: request.detail } as const;
      this.#finish({ ...of, ...facts, durationMs: 0, retryMs: 0, confirmMs: null, remoteId: null });
      return;
    }
    this.#underWay += 1;
    this.#window.start();
    const result = await traced(
      'deliver',
      () => [due.traceparent],
      () => this.#sender.post(request.url, request.headers, request.body),
    );
    this.#window.answered(now());
    this.#underWay -= 1;
    if (!this.#givenUp) {
      const { verdict, remoteId } = request.read(result, Date.now());
      const retryMs = this.#noteResult(verdict, result, due, startedAt);
      const facts = factsOf(result, verdict, () => valuesOf(due));
      // One by one: as spreads they would cost more than the signature.
      this.#finish({
        leadId,
        event,
        resends,
        version,
        messageId: id,
        outcome: facts.outcome,
        status: facts.status,
        detail: facts.detail,
        durationMs: facts.durationMs,
        retryMs,
        confirmMs: confirmAfterMs,
        remoteId,
      });
    }
    if (this.#underWay === 0) for (const tell of this.#tellIdle.splice(0)) tell();
    void this.#work();
  }

  #finish(sent: SentDelivery): void {
    this.#options.metrics.observe(sent);
    this.#outcomes.push(sent);
    void this.#write();
  }

  /** What a result is to the endpoint; how long the delivery waits if it was not taken. */
  #noteResult(
    verdict: Verdict,
    result: SendResult,
    { attempts }: DueDelivery,
    startedAt: number,
  ): number {
    const retryMs = backoffMs(attempts + 1, Math.random());
    if (verdict.kind === 'delivered') {
      this.#failures = 0;
      this.#quietUntil = 0;
      this.#warnedShare = '';
      return 0;
    }
    if (verdict.kind === 'gone') {
      this.#failures += 1;
      this.#disable('It answered 410: it is gone.');
      return retryMs;
    }
    if (verdict.kind === 'later') {
      this.#failures = Math.max(this.#failures, 1);
      this.#quietUntil = Math.max(this.#quietUntil, now() + verdict.afterMs);
    } else if (startedAt >= this.#failedAt) {
      // What was under way together and fails together is one failure.
      this.#failedAt = now();
      this.#failures += 1;
      const pause = pauseMs(this.#failures, Math.random());
      this.#quietUntil = Math.max(this.#quietUntil, now() + pause);
    }
    this.#watchEnd(result);
    return verdict.kind === 'later' ? verdict.afterMs : retryMs;
  }

  /** Disables an endpoint that took nothing for three days, and warns on the way there. */
  #watchEnd(result: SendResult): void {
    const { endpointId, failingSince } = this.#lane;
    const forMs = failingSince === null ? 0 : Date.now() - failingSince.getTime();
    const last = result.kind === 'answered' ? `status ${result.status}` : result.kind;
    if (forMs >= DISABLED_AFTER_MS)
      return this.#disable(`It took nothing for three days; the last try: ${last}.`);
    const share = SHARES.findLast((one) => forMs >= (Number(one) / 100) * DISABLED_AFTER_MS) ?? '';
    if (share === '' || share === this.#warnedShare) return;
    this.#warnedShare = share;
    const facts = { endpointId, percent: Number(share), last };
    this.#options.logger.warn(facts, 'an endpoint takes nothing and will be disabled');
  }

  #disable(reason: string): void {
    this.#disabled = reason;
    const { endpointId } = this.#lane;
    this.#options.logger.error({ endpointId, reason }, 'an endpoint is disabled');
  }

  /** What comes in while the last ones are written is written together. */
  #write(): Promise<void> {
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = null;
      this.#rest();
    });
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    const { store, owner } = this.#options;
    while (this.#outcomes.length > 0) {
      const apartMs = this.#wroteAt + WRITE_APART_MS - now();
      if (apartMs > 0 && this.#underWay > 0) await delay(apartMs);
      const batch = this.#outcomes;
      this.#outcomes = [];
      const quietMs = this.#quietUntil - now();
      const standing = {
        failures: this.#failures,
        quietMs: quietMs > 0 ? quietMs : null,
        disabled: this.#disabled,
      };
      try {
        const { endpointId } = this.#lane;
        await recordTries(store, { owner, endpointId }, batch, standing, DISABLED_AFTER_MS);
      } catch (error) {
        this.#outcomes = [...batch, ...this.#outcomes];
        this.#noteFailure(error, 'could not write what came of sends');
        if (this.#givenUp) return;
        await delay(WRITE_AGAIN_MS);
        continue;
      }
      this.#wroteAt = now();
      this.#toldRefusal = false;
      for (const { leadId } of batch) this.#inHand.delete(leadId);
      if (this.#mayHaveChanged) this.#dueAt = now();
      this.#mayHaveChanged &&= this.#inHand.size > 0;
      void this.#work();
    }
  }

  /** Sends a test that was asked for, whatever the state of the endpoint. */
  async #test(testId: string): Promise<void> {
    if (this.#testing || this.#closed || this.#destination === null) return;
    if (this.#window.places(now()) === 0) return;
    this.#testing = true;
    this.#window.start();
    const { endpointId } = this.#lane;
    const messageId = `msg_test_${testId}`;
    const request = this.#destination.test(messageId);
    const result = await this.#sender.post(request.url, request.headers, request.body);
    this.#window.answered(now());
    if (!this.#givenUp) {
      const facts = factsOf(result, request.read(result, Date.now()).verdict, () => []);
      this.#options.metrics.observe(facts);
      const of = { leadId: null, version: null, event: 'endpoint.test' } as const;
      await recordTest(this.#options.store, endpointId, testId, {
        ...{ ...of, messageId },
        ...facts,
      }).catch((error: unknown) => {
        // It is still asked for, and sent again.
        this.#noteFailure(error, 'could not write what came of a test');
      });
    }
    this.#testing = false;
    this.#rest();
  }

  /** Postgres that is away is told by others, and comes back. What it refuses it refuses again: nothing is sent on. */
  #noteFailure(error: unknown, what: string): void {
    const { logger } = this.#options;
    const { endpointId } = this.#lane;
    const isPassing = ['unavailable', 'conflict'].includes(failureOf(error));
    if (isPassing || this.#toldRefusal) return logger.debug({ err: error, endpointId }, what);
    this.#toldRefusal = true;
    logger.error({ err: error, endpointId }, `${what}: the deliveries of the endpoint stand still`);
  }

  #openDestination(): void {
    const { keyring, logger } = this.#options;
    try {
      this.#destination = openDestination(this.#lane, keyring);
      this.#toldShut = false;
    } catch {
      this.#destination = null;
      if (this.#toldShut) return;
      this.#toldShut = true;
      const { endpointId } = this.#lane;
      logger.error(
        { endpointId },
        'the secret of an endpoint was encrypted under a key that is not SECRETS_KEY, or its kind is of a newer version: nothing is sent to it',
      );
    }
  }

  #createSender(): Sender {
    const { guard, timeoutMs } = this.#options;
    return createSender(guard, { connections: this.#lane.concurrency, timeoutMs });
  }

  #waitForSends(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve();
    return new Promise((resolve) => this.#tellIdle.push(resolve));
  }
}

const now = (): number => performance.now();

type Facts = Pick<DeliveryTry, 'outcome' | 'status' | 'detail' | 'durationMs'>;

/** A result as the log keeps it. `personal`: what an answer must not repeat. */
function factsOf(result: SendResult, verdict: Verdict, personal: () => readonly string[]): Facts {
  const { durationMs } = result;
  if (result.kind !== 'answered')
    return { outcome: result.kind, status: null, detail: result.detail, durationMs };
  const { status, answer } = result;
  const isDelivered = verdict.kind === 'delivered';
  return {
    outcome: isDelivered ? 'delivered' : 'answered',
    status,
    detail: answer === '' ? '' : keptAnswer(answer, personal()),
    durationMs,
  };
}
