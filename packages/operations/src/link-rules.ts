import type { CaptureLink } from '@leadgate/contract';
import { linkEntries, type Store } from '@leadgate/store';

/** A link as the receiver reads bodies by it, closed or not; null where there is none. */
export async function linkRules(store: Store, linkId: string): Promise<CaptureLink | null> {
  const [entry] = await linkEntries(store, linkId);
  return entry?.link ?? null;
}
