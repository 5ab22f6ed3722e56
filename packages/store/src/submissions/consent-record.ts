import type { Consent } from '@leadgate/contract';
import { Prisma } from '../generated/client.ts';
import { isoTime } from '../iso-time.ts';

/** A consent with what proves it: when it reached the service, on which page, from where. */
export interface ConsentRecord extends Consent {
  submissionId: string;
  /** By the service's clock, the stamp of its submission: ISO 8601, UTC. */
  at: string;
  page: string | null;
  /** The sender's network address, as far as it is kept. */
  address: string | null;
  userAgent: string | null;
}

/** What is read of a submission `s` for it. */
export const consentColumns = Prisma.sql`
  s.id AS "submissionId", s.stamp::float8 AS stamp, s.consent, s.page, s.address,
  s.user_agent AS "userAgent"`;

export interface ConsentRow {
  submissionId: string;
  stamp: number;
  consent: Consent | null;
  page: string | null;
  address: string | null;
  userAgent: string | null;
}

/** The consent of a submission; null where it brought none. */
export function readConsentRecord(row: ConsentRow): ConsentRecord | null {
  const { submissionId, stamp, consent, page, address, userAgent } = row;
  if (consent === null) return null;
  return { ...consent, submissionId, at: isoTime(stamp), page, address, userAgent };
}
