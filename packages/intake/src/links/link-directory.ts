import type { RedisConnection, Log } from '@leadgate/boot';
import { setTimeout as delay } from 'node:timers/promises';
import { readCaptureLink, type CaptureLink } from '@leadgate/contract';
import { LINKS, LINK_CHANGES, RELOAD, REVISION } from '../keys.ts';
import { changesAfter, entriesInRedis } from './link-changes.ts';

/** Codes asked for in one call; while as many wait, further unknown ones are not asked for. */
const MAX_QUESTION = 500;
const MISSING_FOR_MS = 2_000;
const MAX_MISSING = 10_000;
const RETRY_LOAD_MS = 500;
const OPEN_WITHIN_MS = 2_000;
/** What is published is lost if the node that is listened to has been cut off from the others. */
const COMPARE_EVERY_MS = 5_000;

export type Finding =
  { kind: 'found'; link: CaptureLink } | { kind: 'unknown' } | { kind: 'not-known-yet' };

export interface LinkDirectory {
  /**
   * The entry of a code. `unknown` only when this process holds the whole directory and hears of
   * changes, or else Redis would have had to say so; `not-known-yet` otherwise, and for an entry that
   * cannot be read. Answers what it has loaded while Redis is away. Never rejects; asks Redis for a
   * code it does not have, at the latency of that call.
   */
  find(code: string): Promise<Finding>;
  /** The entry as this process has it, without asking Redis; null if it has none. */
  peek(code: string): CaptureLink | null;
  /** Every code that is held, with its entry. */
  entries(): Iterable<[code: string, link: CaptureLink]>;
  /** Whether a code that is not here does not exist. */
  readonly complete: boolean;
  /** Stops listening. The connections stay with whoever opened them. */
  close(): Promise<void>;
}

interface LinkDirectoryOptions {
  logger: Log;
  /** What an earlier process knew: held until Redis says better, and never complete. */
  remembered?: Iterable<[code: string, link: CaptureLink]>;
  /** Told whenever what is held changes, with a way to read it once it has. */
  onChange?: (entries: () => Iterable<[code: string, link: CaptureLink]>) => void;
}

/**
 * Opens this process's copy of the link directory: all of it is loaded, and then kept up through
 * `subscriber`, a connection of its own for pub/sub. Resolves when that was tried once, within two
 * seconds: with Redis away it holds what is remembered, is not complete, and goes on trying.
 */
export async function openLinkDirectory(
  redis: RedisConnection,
  subscriber: RedisConnection,
  options: LinkDirectoryOptions,
): Promise<LinkDirectory> {
  const directory = new Directory(redis, subscriber, options);
  await directory.open();
  return directory;
}

/** A code of a directory that was loaded; null if its entry cannot be read. */
type Entries = Map<string, CaptureLink | null>;

interface Question {
  codes: Set<string>;
  answered: Promise<void>;
}

class Directory implements LinkDirectory {
  readonly #redis: RedisConnection;
  readonly #subscriber: RedisConnection;
  readonly #logger: Log;
  readonly #stop = new AbortController();

  readonly #onChange: () => void;

  #entries: Entries;
  /** Of what is held; null if that is not, or perhaps not, all. */
  #revision: number | null = null;
  /** Changes are heard of. */
  #listening = false;
  /** The newest revision ever held: a lower one is that of an older Redis. */
  #newest = 0;
  #loading: Promise<void> | null = null;
  #loadAgain = false;
  #loadIsPlanned = false;
  #catchingUp: Promise<void> | null = null;
  #comparing: NodeJS.Timeout | undefined;
  /** Codes that changed while a load was under way, and may have been read before they did. */
  #changedMeanwhile = new Set<string>();

  /** Code → until when (ms) it need not be asked for again. */
  readonly #missing = new Map<string, number>();
  /** The question that still takes codes, and the one that waits for Redis. */
  #nextQuestion: Question | null = null;
  #asking: Promise<void> = Promise.resolve();

  constructor(
    redis: RedisConnection,
    subscriber: RedisConnection,
    { logger, remembered = [], onChange = () => undefined }: LinkDirectoryOptions,
  ) {
    this.#redis = redis;
    this.#subscriber = subscriber;
    this.#logger = logger;
    this.#entries = new Map(remembered);
    this.#onChange = () => onChange(() => this.entries());
  }

  get complete(): boolean {
    return this.#listening && this.#revision !== null;
  }

  async open(): Promise<void> {
    this.#subscriber.on('message', this.#onMessage);
    this.#subscriber.on('ready', this.#onReady);
    this.#subscriber.on('close', this.#onClose);
    this.#comparing = setInterval(() => {
      if (this.complete) this.#read([]).catch(() => undefined);
    }, COMPARE_EVERY_MS).unref();
    const waited = new AbortController();
    await Promise.race([
      this.#load().finally(() => waited.abort()),
      delay(OPEN_WITHIN_MS, undefined, { signal: waited.signal }).catch(() => undefined),
    ]);
  }

  close(): Promise<void> {
    this.#stop.abort();
    clearInterval(this.#comparing);
    this.#subscriber.off('message', this.#onMessage);
    this.#subscriber.off('ready', this.#onReady);
    this.#subscriber.off('close', this.#onClose);
    this.#listening = false;
    // Not waited for: a Redis that hangs would hold up the end of the process.
    if (this.#subscriber.status === 'ready')
      this.#subscriber.unsubscribe(LINK_CHANGES).catch(() => undefined);
    return Promise.resolve();
  }

  async find(code: string): Promise<Finding> {
    if (!this.#entries.has(code)) await this.#ask(code);
    const link = this.#entries.get(code);
    if (link) return { kind: 'found', link };
    return link === undefined && this.complete ? { kind: 'unknown' } : { kind: 'not-known-yet' };
  }

  peek(code: string): CaptureLink | null {
    return this.#entries.get(code) ?? null;
  }

  *entries(): Iterable<[code: string, link: CaptureLink]> {
    for (const [code, link] of this.#entries) if (link !== null) yield [code, link];
  }

  readonly #onReady = (): void => void this.#load();
  readonly #onClose = (): void => void (this.#listening = false);
  readonly #onMessage = (channel: string, message: string): void => {
    if (channel !== LINK_CHANGES) return;
    if (message === RELOAD) {
      // Postgres has just said what there is, be its revision lower or not.
      this.#newest = 0;
      void this.#load();
      return;
    }
    const codes = message.split(',');
    if (this.#loading) for (const code of codes) this.#changedMeanwhile.add(code);
    this.#read(codes).catch((err: unknown) => {
      this.#logger.warn({ err }, 'changed links could not be read; loading all of them');
      void this.#load();
    });
  };

  /** Loads all of it, once at a time; a call during a load has it load once more. */
  #load(): Promise<void> {
    if (this.#loading) {
      this.#loadAgain = true;
      return this.#loading;
    }
    this.#loading = this.#loadOnce()
      .catch((err: unknown) => {
        if (this.#stop.signal.aborted) return;
        this.#revision = null;
        this.#logger.warn({ err }, 'the link directory could not be loaded; trying again');
        this.#loadLater();
      })
      .finally(() => {
        this.#loading = null;
        if (!this.#loadAgain || this.#stop.signal.aborted) return;
        this.#loadAgain = false;
        void this.#load();
      });
    return this.#loading;
  }

  #loadLater(): void {
    if (this.#loadIsPlanned) return;
    this.#loadIsPlanned = true;
    delay(RETRY_LOAD_MS, undefined, { ref: false, signal: this.#stop.signal }).then(
      () => {
        this.#loadIsPlanned = false;
        return this.#load();
      },
      () => undefined,
    );
  }

  async #loadOnce(): Promise<void> {
    // Listening first: what changes during the load is then heard of.
    await this.#subscriber.subscribe(LINK_CHANGES);
    const before = readRevision(await this.#redis.hget(LINKS, REVISION));
    const entries: Entries = new Map();
    for await (const page of entriesInRedis(this.#redis))
      for (const [code, text] of page) entries.set(code, this.#parse(code, text));
    const after = readRevision(await this.#redis.hget(LINKS, REVISION));
    // What changed meanwhile may be in it or not: it is as of before.
    this.#adopt(entries, before !== null && after !== null && before <= after ? before : null);
    this.#listening = this.#subscriber.status === 'ready';
    const changed = [...this.#changedMeanwhile];
    this.#changedMeanwhile.clear();
    if (changed.length > 0) await this.#read(changed);
    if (after !== this.#revision) await this.#catchUp();
  }

  #adopt(entries: Entries, revision: number | null): void {
    this.#onChange();
    if (revision !== null && revision >= this.#newest) {
      this.#entries = entries;
      this.#revision = this.#newest = revision;
      this.#logger.info({ links: entries.size, revision }, 'link directory loaded');
      return;
    }
    // Lost, being refilled, or older than what is held: it adds, and takes nothing away.
    for (const [code, link] of entries) if (!this.#entries.has(code)) this.#entries.set(code, link);
    this.#revision = null;
    this.#logger.warn(
      { links: this.#entries.size, revision },
      'the link directory in Redis is not complete',
    );
  }

  #parse(code: string, text: string): CaptureLink | null {
    const link = readCaptureLink(text);
    if (link === null)
      this.#logger.error({ code: `${code.slice(0, 6)}…` }, 'a link directory entry cannot be read');
    return link;
  }

  /** Has a code asked for, together with all those asked for before the next call goes out. */
  async #ask(code: string): Promise<void> {
    const missingUntil = this.#missing.get(code);
    if (missingUntil !== undefined && missingUntil > Date.now()) return;
    const question = (this.#nextQuestion ??= this.#openQuestion());
    if (question.codes.size >= MAX_QUESTION && !question.codes.has(code)) return;
    question.codes.add(code);
    await question.answered;
  }

  /** One call at a time: a flood of unknown codes makes calls larger, and then is not asked for. */
  #openQuestion(): Question {
    const codes = new Set<string>();
    const answered = this.#asking.then(async () => {
      this.#nextQuestion = null;
      await this.#read([...codes]).catch(() => {
        // It may exist: until Redis answers, nothing that is not here is known not to.
        this.#revision = null;
        this.#loadLater();
      });
    });
    this.#asking = answered;
    return { codes, answered };
  }

  /** Takes over what Redis has for the codes now. */
  async #read(codes: string[]): Promise<void> {
    const [revisionText, ...texts] = await this.#redis.hmget(LINKS, REVISION, ...codes);
    if (texts.some((text) => text !== null)) this.#onChange();
    codes.forEach((code, i) => {
      const text = texts[i];
      if (text !== null && text !== undefined) this.#take(code, text);
      else this.#noteMissing(code);
    });
    this.#compare(readRevision(revisionText));
  }

  /** Replies may be taken over in another order than they were given. */
  #take(code: string, text: string): void {
    const link = this.#parse(code, text);
    const held = this.#entries.get(code);
    this.#missing.delete(code);
    if (held && link && (link.revision ?? 0) < (held.revision ?? 0)) return;
    this.#entries.set(code, link);
  }

  /** Whether Redis is at another revision than this process. */
  #compare(revision: number | null): void {
    if (revision === this.#revision) return;
    if (revision !== null && this.#revision !== null && revision > this.#revision) {
      // What is not here is asked for there: until then the directory is no less complete.
      if (!this.#loading) void this.#catchUp();
      return;
    }
    // Lost, older, or refilled without word of it.
    this.#revision = null;
    void this.#load();
  }

  /** Takes over what changed since, once at a time. */
  #catchUp(): Promise<void> {
    this.#catchingUp ??= this.#catchUpOnce()
      .catch((err: unknown) => {
        if (!this.#stop.signal.aborted)
          this.#logger.warn({ err }, 'changes of links could not be read; trying again');
      })
      .finally(() => (this.#catchingUp = null));
    return this.#catchingUp;
  }

  async #catchUpOnce(): Promise<void> {
    const from = this.#revision;
    if (from === null) return;
    const found = await changesAfter(this.#redis, from);
    // A load came in between, and brought what is newer.
    if (this.#revision !== from) return;
    if (found.kind !== 'changes') {
      if (found.kind === 'incomplete' || found.revision < from) this.#revision = null;
      void this.#load();
      return;
    }
    if (found.entries.length > 0) this.#onChange();
    for (const { code, text } of found.entries)
      if (text === null) this.#entries.delete(code);
      else this.#take(code, text);
    this.#revision = this.#newest = found.revision;
    this.#logger.info(
      { changed: found.entries.length, revision: found.revision },
      'link directory followed',
    );
  }

  #noteMissing(code: string): void {
    this.#missing.delete(code);
    this.#missing.set(code, Date.now() + MISSING_FOR_MS);
    if (this.#missing.size <= MAX_MISSING) return;
    const [oldest] = this.#missing.keys();
    if (oldest !== undefined) this.#missing.delete(oldest);
  }
}

function readRevision(text: string | null | undefined): number | null {
  return text === null || text === undefined ? null : Number(text);
}
