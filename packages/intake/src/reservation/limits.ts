/** What a use of a limit counts as at most. */
export const MAX_WEIGHT = 64;

/** A use of something that has a limit a minute. */
export interface LimitUse {
  /** `link:<id>`, `address:<hash>`: never an address itself, as it stands in Redis. */
  key: string;
  max: number;
  /** How many uses it counts as, 1 to `MAX_WEIGHT`; one without it. It passes while any is left. */
  weight?: number;
}

const WINDOW_MS = 60_000;
/** Keys followed in a minute; what comes beyond is limited by the reservation alone. */
const MAX_KEYS = 50_000;
/** Those without a workspace may take up this many: whoever guesses codes leaves room for others. */
const MAX_KEYS_OF_NOBODY = 25_000;
/** A request that was counted this long ago and has not asked for a reservation never will. */
const UNREPORTED_AFTER_MS = 2_000;
/** Keys whose unreported uses go with one group besides the keys of the group itself. */
const MAX_UNREPORTED = 100;

/** Uses of one key in this minute, by where they are. */
interface Position {
  /** Counted in Redis, by all receivers. */
  known: number;
  /** Sent to Redis, which has not answered. */
  underWay: number;
  /** Counted here, and perhaps on their way to a reservation: lately, and longer ago. */
  recent: number;
  older: number;
  agedAt: number;
  /** Counted here, and never came to a reservation (refused bodies). */
  unreported: number;
}

/** A limit key as it goes with a group; `extra` uses are counted besides the group's own. */
export interface CarriedLimit extends Omit<LimitUse, 'weight'> {
  extra: number;
}

/** What a group took along to Redis, handed back with the answer. */
interface SentUses {
  limits: CarriedLimit[];
  /** Of the followed ones among `limits`, by key. */
  underWay: Map<string, { position: Position; uses: number }>;
}

/**
 * Requests a minute as this process knows them: what Redis counted when it was last asked, and what
 * happened here since. A flood is answered from this, without Redis; what passes is counted exactly,
 * across receivers, by the reservation. Minutes are those of Redis's clock.
 */
export class Limits {
  #window = 0;
  /** Redis's clock minus this process's. */
  #offsetMs = 0;
  /** By workspace and key: a key's text is hashed once, however often it is looked up. */
  #positions = new Map<string | null, Map<string, Position>>();
  #followed = 0;
  /** By workspace: keys with unreported uses. */
  #unreported = new Map<string, Map<string, Position>>();

  /**
   * Counts a use, and says which one of this minute it is. One that comes out above `max` is not
   * counted, so that being refused does not use up anything. `ttlMs`: until the next minute.
   * Without a workspace (unknown links) nobody but this process counts.
   */
  count(workspaceId: string | null, key: string, max: number): { current: number; ttlMs: number } {
    const now = this.#now();
    const ttlMs = WINDOW_MS - (now % WINDOW_MS);
    const position = this.#follow(workspaceId, key);
    if (position === undefined) return { current: 1, ttlMs };
    this.#age(workspaceId, key, position, now);
    const { known, underWay, recent, older, unreported } = position;
    const current = known + underWay + recent + older + unreported + 1;
    if (current <= max) position.recent += 1;
    return { current, ttlMs };
  }

  /**
   * Counts further uses of what is answered without a reservation: a refused body that is kept takes as
   * much as an accepted one. Redis, and so the other receivers, hear of them with the next group.
   */
  spend(workspaceId: string, key: string, uses: number): void {
    if (uses <= 0) return;
    this.#now();
    const position = this.#follow(workspaceId, key);
    if (position === undefined) return;
    position.unreported += uses;
    this.#reportLater(workspaceId, key, position);
  }

  /** For the reserver: takes along what a group of a workspace has to count. */
  send(
    workspaceId: string,
    group: readonly { request: { limits: readonly LimitUse[] }; joinLimit: LimitUse | null }[],
  ): SentUses {
    this.#now();
    const limits = new Map<string, CarriedLimit>();
    const underWay: SentUses['underWay'] = new Map();
    const send = (key: string, position: Position, uses: number): void => {
      position.underWay += uses;
      const before = underWay.get(key)?.uses ?? 0;
      underWay.set(key, { position, uses: before + uses });
    };
    for (const { request, joinLimit } of group) {
      // Which of them counts is for Redis to find: there is nothing to estimate here.
      if (joinLimit !== null) limits.set(joinLimit.key, { ...joinLimit, extra: 0 });
      for (const { key, max, weight = 1 } of request.limits) {
        if (!limits.has(key)) limits.set(key, { key, max, extra: 0 });
        const position = this.#follow(workspaceId, key);
        if (position === undefined) continue;
        if (position.recent > 0) position.recent -= 1;
        else if (position.older > 0) position.older -= 1;
        send(key, position, weight);
      }
    }
    for (const { key, position } of this.#takeUnreported(workspaceId)) {
      const extra = position.unreported;
      position.unreported = 0;
      // Nobody of the group is held against a key that only goes along, so its maximum is not asked.
      limits.set(key, { key, max: limits.get(key)?.max ?? 0, extra });
      send(key, position, extra);
    }
    return { limits: [...limits.values()], underWay };
  }

  /** For the reserver: the totals of the limits that were sent, in their order, at Redis's time (ms). */
  confirm({ limits, underWay }: SentUses, totals: readonly number[], redisNow: number): void {
    this.#offsetMs = redisNow - Date.now();
    for (const { position, uses } of underWay.values()) position.underWay -= uses;
    // If the minute is another by now, these are positions that nobody looks at any more.
    this.#roll(redisNow);
    limits.forEach(({ key }, i) => {
      const position = underWay.get(key)?.position;
      if (position) position.known = Math.max(position.known, totals[i] ?? 0);
    });
  }

  /** For the reserver: what was sent and has no answer. Its uses count here, as they may count there. */
  giveUp({ underWay }: SentUses): void {
    for (const { position, uses } of underWay.values()) {
      position.underWay -= uses;
      position.known += uses;
    }
  }

  #now(): number {
    const now = Date.now() + this.#offsetMs;
    this.#roll(now);
    return now;
  }

  /** Starts from nothing in another minute, and in an earlier one if Redis's clock says so. */
  #roll(now: number): void {
    const window = Math.floor(now / WINDOW_MS);
    if (window === this.#window) return;
    this.#window = window;
    this.#positions = new Map();
    this.#followed = 0;
    this.#unreported = new Map();
  }

  #follow(workspaceId: string | null, key: string): Position | undefined {
    const positions = this.#positions.get(workspaceId) ?? new Map<string, Position>();
    let position = positions.get(key);
    const most = workspaceId === null ? MAX_KEYS_OF_NOBODY : MAX_KEYS;
    if (position === undefined && this.#followed < most) {
      position = { known: 0, underWay: 0, recent: 0, older: 0, agedAt: 0, unreported: 0 };
      this.#positions.set(workspaceId, positions.set(key, position));
      this.#followed += 1;
    }
    return position;
  }

  #age(workspaceId: string | null, key: string, position: Position, now: number): void {
    if (now - position.agedAt < UNREPORTED_AFTER_MS) return;
    position.unreported += position.older;
    position.older = position.recent;
    position.recent = 0;
    position.agedAt = now;
    if (workspaceId !== null && position.unreported > 0)
      this.#reportLater(workspaceId, key, position);
  }

  #reportLater(workspaceId: string, key: string, position: Position): void {
    const unreported = this.#unreported.get(workspaceId) ?? new Map<string, Position>();
    this.#unreported.set(workspaceId, unreported.set(key, position));
  }

  #takeUnreported(workspaceId: string): { key: string; position: Position }[] {
    const unreported = this.#unreported.get(workspaceId);
    if (unreported === undefined) return [];
    const going: { key: string; position: Position }[] = [];
    for (const [key, position] of unreported) {
      if (going.length === MAX_UNREPORTED) break;
      going.push({ key, position });
      unreported.delete(key);
    }
    return going;
  }
}

/** A fresh estimate, for one process. */
export function createLimits(): Limits {
  return new Limits();
}
