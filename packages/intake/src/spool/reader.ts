import {
  hasCode,
  decodePayload,
  LARGEST_PAYLOAD,
  type SpooledSubmission,
  type Segment,
  type Stretch,
} from './segment.ts';

/** A record that was handed out. */
export interface SpoolRecord {
  spooled: SpooledSubmission;
  readonly segment: Segment;
  readonly offset: number;
  readonly bytes: number;
  /** Its place among those of its workspace that wait; undefined if it never waited. */
  readonly place?: number;
}

export interface Taken {
  /** At most as many as asked for; none although there are more, if those just read have to wait. */
  records: SpoolRecord[];
  /** Damaged ones met on the way, and set aside. */
  damaged: number;
}

/** What the folder does for its reader. */
interface Keeper {
  /** Has nothing more written to a segment; false if something is being written to it. */
  retire(segment: Segment): boolean;
  /** Removes a segment, file and all. */
  drop(segment: Segment): Promise<void>;
  /** Keeps damaged bytes for a person to look at. */
  setAside(bytes: Buffer): Promise<void>;
}

/** How far a segment is read, and what of it is not drained. */
interface Progress {
  offset: number;
  isRead: boolean;
  /** Records and damage that were passed. */
  passed: number;
  left: number;
  leftBytes: number;
  /** Offsets of records that wait for their workspace; −1 once drained. */
  waiting: number[];
  /** Holds damage that could not be set aside: the next process tries again. */
  isKept: boolean;
}

/**
 * The records of a workspace that is being refilled, or was, in order: where they are, and not what is in
 * them. So they are decoded when they are first met and when they are drained, and never in between.
 */
interface Queue {
  segments: Segment[];
  /** Of their segment's `waiting`. */
  indexes: number[];
  next: number;
  left: number;
  /** As the last try said. */
  isBehind: boolean;
  /** Milliseconds, monotonic. */
  triedAt: number;
}

/**
 * Hands out the records of a folder's segments in order, each once, and deletes segments that are drained.
 * A workspace that is behind holds back its own records only. What was handed out and not told done is
 * handed out again by the next process.
 */
export class SpoolReader {
  readonly #segments: readonly Segment[];
  readonly #keeper: Keeper;
  readonly #progress = new Map<Segment, Progress>();
  readonly #queues = new Map<string, Queue>();
  /** Handed out before, and to be handed out again before any other. */
  #again: SpoolRecord[] = [];
  #damagedInPlace = 0;

  constructor(segments: readonly Segment[], keeper: Keeper) {
    this.#segments = segments;
    this.#keeper = keeper;
  }

  /** Records that are not drained; of what was not read yet, as the names of segments say. */
  get left(): number {
    let left = 0;
    for (const segment of this.#segments) {
      const progress = this.#progress.get(segment);
      const unread = progress?.isRead ? 0 : Math.max(0, segment.records - (progress?.passed ?? 0));
      left += unread + (progress?.left ?? 0);
    }
    return left;
  }

  get damagedInPlace(): number {
    return this.#damagedInPlace;
  }

  /** Records that wait for their workspace. */
  get behind(): number {
    let behind = 0;
    for (const { left } of this.#queues.values()) behind += left;
    return behind;
  }

  /**
   * The next records, at most `limit`; null if there are none now. Of a workspace that is behind one
   * record is tried, and not again before `triedBefore` has moved on (milliseconds, monotonic).
   */
  async take(limit: number, triedBefore: number): Promise<Taken | null> {
    if (this.#again.length > 0) return { records: this.#again.splice(0), damaged: 0 };
    await this.#tidy();
    const waited = await this.#takeWaiting(Math.ceil(limit / 2), triedBefore);
    const next = await this.#takeNext(limit - waited.records.length);
    if (next === null) return waited.records.length + waited.damaged > 0 ? waited : null;
    return {
      records: [...waited.records, ...next.records],
      damaged: waited.damaged + next.damaged,
    };
  }

  /** It stands in the queue. */
  done({ spooled, segment, bytes, place }: SpoolRecord): void {
    const progress = this.#progressOf(segment);
    progress.left -= 1;
    progress.leftBytes -= bytes;
    if (place === undefined) return;
    const { workspaceId } = spooled.submission;
    const queue = this.#queues.get(workspaceId);
    const index = queue?.indexes[place];
    if (queue === undefined || index === undefined) return;
    progress.waiting[index] = -1;
    queue.isBehind = false;
    queue.left -= 1;
    if (queue.left === 0) this.#queues.delete(workspaceId);
  }

  /** No Redis could take it. */
  async setAside(record: SpoolRecord): Promise<void> {
    await this.#keepDamaged(record.segment, record);
    this.done(record);
  }

  /** Their workspaces are behind. In order. */
  wait(records: readonly SpoolRecord[]): void {
    for (const { spooled, segment, offset, place } of records) {
      const queue = this.#queueOf(spooled.submission.workspaceId);
      if (place === undefined) this.#enqueue(queue, segment, offset);
      else queue.next = Math.min(queue.next, place);
      queue.isBehind = true;
      queue.triedAt = performance.now();
    }
  }

  /** Redis failed: they are the first of the next `take`. In order. */
  again(records: readonly SpoolRecord[]): void {
    this.#again.push(...records);
  }

  /** Deletes what is drained, and makes one segment smaller of which little is left. */
  async tidy(): Promise<void> {
    if (this.#again.length === 0) await this.#tidy();
  }

  async #tidy(): Promise<void> {
    for (const segment of [...this.#progress.keys()]) {
      const progress = this.#progressOf(segment);
      if (!progress.isRead || progress.isKept) continue;
      if (progress.left === 0) {
        await this.#keeper.drop(segment);
        this.#progress.delete(segment);
      } else if (2 * progress.leftBytes < segment.size) {
        await shrink(segment, progress);
        return;
      }
    }
  }

  async #takeWaiting(limit: number, triedBefore: number): Promise<Taken> {
    const taken: Taken = { records: [], damaged: 0 };
    for (const [workspaceId, queue] of [...this.#queues]) {
      const room = limit - taken.records.length;
      if (room === 0) break;
      if (queue.isBehind && queue.triedAt >= triedBefore) continue;
      // The next turn begins with others.
      this.#queues.delete(workspaceId);
      this.#queues.set(workspaceId, queue);
      await this.#takeFrom(queue, queue.isBehind ? 1 : room, taken);
      if (queue.left === 0) this.#queues.delete(workspaceId);
    }
    return taken;
  }

  async #takeFrom(queue: Queue, limit: number, taken: Taken): Promise<void> {
    const near = new Map<number, { segment: Segment; stretch: Stretch }>();
    for (let count = 0; count < limit && queue.next < queue.indexes.length;) {
      const place = queue.next++;
      const [segment, index] = [queue.segments[place], queue.indexes[place]];
      if (segment === undefined || index === undefined) continue;
      const progress = this.#progressOf(segment);
      const offset = progress.waiting[index] ?? -1;
      if (offset === -1) continue;
      // Those of one workspace often stand side by side: they are read together.
      if (near.get(offset)?.segment !== segment) {
        near.clear();
        const { found } = await segment.read(offset, limit - count);
        for (const stretch of found) near.set(stretch.offset, { segment, stretch });
      }
      const stretch = near.get(offset)?.stretch ?? { offset, bytes: 0, payload: null };
      const spooled = stretch.payload && decodePayload(stretch.payload);
      if (spooled === null) {
        await this.#keepDamaged(segment, stretch);
        progress.waiting[index] = -1;
        progress.left -= 1;
        queue.left -= 1;
        taken.damaged += 1;
        continue;
      }
      taken.records.push({ spooled, segment, offset, bytes: stretch.bytes, place });
      count += 1;
    }
  }

  async #takeNext(limit: number): Promise<Taken | null> {
    const segment = this.#segments.find((one) => this.#progress.get(one)?.isRead !== true);
    if (segment === undefined) return null;
    const progress = this.#progressOf(segment);
    // Asked before it is read: what is written to it while it is read is not seen.
    const { isOpen } = segment;
    const { found, next } = await this.#read(segment, progress, limit);
    const taken: Taken = { records: [], damaged: 0 };
    for (const stretch of found) {
      const spooled = stretch.payload && decodePayload(stretch.payload);
      if (spooled === null) {
        await this.#keepDamaged(segment, stretch);
        taken.damaged += 1;
      } else {
        const { offset, bytes } = stretch;
        progress.left += 1;
        progress.leftBytes += bytes;
        const queue = this.#queues.get(spooled.submission.workspaceId);
        if (queue) this.#enqueue(queue, segment, offset);
        else taken.records.push({ spooled, segment, offset, bytes });
      }
      progress.passed += 1;
      progress.offset = stretch.offset + stretch.bytes;
    }
    if (next !== undefined) return taken;
    if (!isOpen) progress.isRead = true;
    else if (progress.left === 0 && progress.offset === segment.size)
      progress.isRead = this.#keeper.retire(segment);
    return isOpen && found.length === 0 ? null : taken;
  }

  /** What the disk cannot give stays where it is, and holds back no other segment. */
  async #read(
    segment: Segment,
    progress: Progress,
    limit: number,
  ): Promise<Awaited<ReturnType<Segment['read']>>> {
    try {
      return await segment.read(progress.offset, limit);
    } catch (error) {
      if (!hasCode(error, 'EIO')) throw error;
      this.#damagedInPlace += Math.max(1, segment.records - progress.passed);
      progress.isRead = true;
      progress.isKept = true;
      return { found: [] };
    }
  }

  #enqueue(queue: Queue, segment: Segment, offset: number): void {
    queue.segments.push(segment);
    queue.indexes.push(this.#progressOf(segment).waiting.push(offset) - 1);
    queue.left += 1;
  }

  /** On a full disk it stays where it is, and its segment with it: what is behind it goes on. */
  async #keepDamaged(segment: Segment, { offset, bytes }: Omit<Stretch, 'payload'>): Promise<void> {
    try {
      for (let at = 0; at < bytes; at += LARGEST_PAYLOAD) {
        const piece = { offset: offset + at, bytes: Math.min(LARGEST_PAYLOAD, bytes - at) };
        await this.#keeper.setAside(await segment.readRaw(piece));
      }
    } catch {
      this.#progressOf(segment).isKept = true;
      this.#damagedInPlace += 1;
    }
  }

  #queueOf(workspaceId: string): Queue {
    let queue = this.#queues.get(workspaceId);
    if (queue === undefined) {
      queue = { segments: [], indexes: [], next: 0, left: 0, isBehind: true, triedAt: 0 };
      this.#queues.set(workspaceId, queue);
    }
    return queue;
  }

  #progressOf(segment: Segment): Progress {
    let progress = this.#progress.get(segment);
    if (progress === undefined) {
      progress = {
        ...{ offset: 0, isRead: false, passed: 0, left: 0, leftBytes: 0 },
        ...{ waiting: [], isKept: false },
      };
      this.#progress.set(segment, progress);
    }
    return progress;
  }
}

/** All that is left of it waits. A full disk leaves it as it is. */
async function shrink(segment: Segment, progress: Progress): Promise<void> {
  const indexes: number[] = [];
  const offsets: number[] = [];
  for (const [index, offset] of progress.waiting.entries())
    if (offset !== -1) {
      indexes.push(index);
      offsets.push(offset);
    }
  try {
    // Some are in no queue: a bug, which costs room and no lead.
    if (offsets.length !== progress.left) throw new Error('a record was lost sight of');
    const moved = await segment.keepOnly(offsets);
    for (const [i, index] of indexes.entries()) progress.waiting[index] = moved[i] ?? -1;
  } catch {
    progress.leftBytes = segment.size;
  }
}
