import type { CaptureLink } from './capture-link.ts';

/** The entries of the link directory that changed, as they are at `revision` or after it. */
export interface LinkChanges {
  revision: number;
  /** Null: the code is gone. */
  entries: { code: string; link: CaptureLink | null }[];
}

/** What Redis is refilled from when it comes back empty or older: Postgres, read in pages. */
export interface RefillSource {
  /** Raised by whatever changes a link, and never the same again: read before `links()`, it says how new they are. */
  directoryRevision(): Promise<number>;
  workspaceIds(): Promise<string[]>;
  /** Every code that resolves, closed ones included, with its entry. */
  links(): AsyncIterable<{ code: string; link: CaptureLink }[]>;
  /**
   * Every identity of a workspace with its owner, aliases and merges followed. The keys of a lead
   * follow each other, so that they can be counted as they pass.
   */
  identities(workspaceId: string): AsyncIterable<{ key: string; leadId: string }[]>;
  /** The highest order (microseconds) ever stored in each of the workspaces; 0 or absent: none. */
  highestOrders(workspaceIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
}

export interface LinkChangeSource {
  /**
   * What changed after a revision. Null if only reading all of it tells: too much, too long ago, or a
   * revision that this Postgres never had.
   */
  linkChanges(since: number): Promise<LinkChanges | null>;
}

/** What is known of workspaces that Postgres does not have. */
export interface RemovalSource {
  /** Those of the workspaces that were removed for good. */
  removedAmong(workspaceIds: readonly string[]): Promise<ReadonlySet<string>>;
}
