import type { CaptureLink } from '@leadgate/contract';
import type { LinkDirectory, WithinDeadline } from '@leadgate/intake';
import { listsOrigin } from './cors.ts';

/** Codes are made of URL-safe characters; anything else is no code, and not worth a question. */
const CODE = /^[\w.~-]{1,128}$/;

export type Admission =
  | { kind: 'admitted'; link: CaptureLink }
  | { kind: 'turned-away'; code: 'link-closed' | 'origin-not-allowed'; link: CaptureLink }
  | { kind: 'unknown-link' }
  /** The directory cannot say now whether there is such a link. */
  | { kind: 'not-known-yet' };

/**
 * Whether a post to a code may go on to its body. Rejects when the directory had to ask Redis and
 * got no answer.
 */
export async function admit(
  directory: Pick<LinkDirectory, 'find' | 'peek'>,
  within: WithinDeadline,
  post: { code: string; origin: string | undefined; now: number },
): Promise<Admission> {
  if (!CODE.test(post.code)) return { kind: 'unknown-link' };
  const known = directory.peek(post.code);
  if (known !== null) return admissionOf(known, post);
  const finding = await within(directory.find(post.code));
  if (finding.kind === 'unknown') return { kind: 'unknown-link' };
  if (finding.kind === 'not-known-yet') return finding;
  return admissionOf(finding.link, post);
}

function admissionOf(
  link: CaptureLink,
  post: { origin: string | undefined; now: number },
): Admission {
  const isExpired = link.expiresAt !== null && link.expiresAt <= post.now;
  if (link.state !== 'open' || isExpired) return { kind: 'turned-away', code: 'link-closed', link };
  if (!mayPost(link, post.origin)) return { kind: 'turned-away', code: 'origin-not-allowed', link };
  return { kind: 'admitted', link };
}

function mayPost(link: CaptureLink, origin: string | undefined): boolean {
  if (link.origins.length === 0) return true;
  return origin === undefined ? link.allowServers : listsOrigin(link, origin);
}
