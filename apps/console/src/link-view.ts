import type { Link } from '@leadgate/store';

/** A link with the code in use and where it is posted to. */
export function viewLink(link: Link, receiverUrl: string | null) {
  const now = new Date();
  const [current] = link.codes;
  if (current === undefined) throw new Error('a link has lost its code');
  const isOver = (at: Date | null): boolean => at !== null && at <= now;
  const status =
    link.state === 'disabled' ? 'disabled' : isOver(current.expiresAt) ? 'expired' : 'open';
  return {
    ...link,
    createdAt: link.createdAt.toISOString(),
    status,
    code: current.code,
    captureUrl: receiverUrl === null ? null : `${receiverUrl}/ingest/${current.code}`,
    expiresAt: current.expiresAt?.toISOString() ?? null,
    codes: link.codes.map(({ code, expiresAt, createdAt }) => ({
      code,
      createdAt: createdAt.toISOString(),
      expiresAt: expiresAt?.toISOString() ?? null,
      expired: isOver(expiresAt),
    })),
  };
}
