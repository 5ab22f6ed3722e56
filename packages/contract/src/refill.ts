import type { CaptureLink } from './capture-link.ts';

/** What Redis is refilled from when it comes back empty or older: Postgres, read in pages. */
export interface RefillSource {
  /** Counted up by whatever changes a link: read before `links()`, it says how new they are. */
  directoryRevision(): Promise<number>;
  workspaceIds(): Promise<string[]>;
  /** Every code that resolves, closed ones included, with its entry. */
  links(): AsyncIterable<{ code: string; link: CaptureLink }[]>;
  /**
   * Every identity of a workspace with its owner, aliases and merges followed. The keys of a lead
   * follow each other, so that they can be counted as they pass.
   */
  identities(workspaceId: string): AsyncIterable<{ key: string; leadId: string }[]>;
  /** The highest order (microseconds) stored in each of the workspaces; 0 or absent: none. */
  highestOrders(workspaceIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
}
