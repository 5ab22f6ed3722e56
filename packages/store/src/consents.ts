import type { Consent } from '@leadgate/contract';
import { normalized } from '@leadgate/leads';
import { withoutValues } from './failure-of.ts';
import { Prisma } from './generated/client.ts';
import { ownIds } from './leads.ts';
import type { Store } from './open-store.ts';
import { isoTime, NIL_UUID, pagesOf, type Statements } from './statements.ts';

/** What was done with a consent: the box was ticked, or not, or what was granted was taken back. */
export type ConsentAction = 'granted' | 'refused' | 'withdrawn';

/** A consent with what proves it: the words, when they reached the service, on which page, from where. */
export interface ConsentRecord extends Consent {
  submissionId: string;
  action: ConsentAction;
  /** By the service's clock, the stamp of its submission: ISO 8601, UTC. */
  at: string;
  page: string | null;
  /** The sender's network address, as far as it is kept. */
  address: string | null;
  userAgent: string | null;
  /** Of words that said something about a person who was erased: the SHA-256 of them. */
  textSha256?: string;
  textVersionSha256?: string;
}

/** A consent in the table, and in the submission that brought it: the same, in the same order. */
const OF_SUBMISSION = Prisma.raw(`
  id, workspace_id, lead_id, link_id,
  CASE WHEN (consent->>'given')::boolean THEN 'granted'
       WHEN source = 'withdrawal' THEN 'withdrawn' ELSE 'refused' END,
  consent->>'text', consent->>'textVersion', consent->>'textSha256', consent->>'textVersionSha256',
  consent->>'language', page, user_agent, address, stamp, applied_at`);
const COLUMNS = Prisma.raw(`
  submission_id, workspace_id, lead_id, link_id, action, text, text_version, text_sha256,
  text_version_sha256, language, page, user_agent, address, stamp, recorded_at`);

/** Records the consents of rows of submissions, those that are there excepted: a statement, or a part of one. */
export const recordConsents = (rows: Prisma.Sql): Prisma.Sql => Prisma.sql`
  INSERT INTO consent (${COLUMNS})
  SELECT ${OF_SUBMISSION} FROM ${rows} WHERE consent IS NOT NULL
  ON CONFLICT (submission_id) DO NOTHING`;

/** What is read of a consent `c`. */
const consentColumns = Prisma.sql`
  c.submission_id AS "submissionId", c.stamp::float8 AS stamp, c.action, c.text,
  c.text_version AS "textVersion", c.text_sha256 AS "textSha256",
  c.text_version_sha256 AS "textVersionSha256", c.language, c.page, c.address,
  c.user_agent AS "userAgent"`;

const TEXTS = ['text', 'textVersion', 'textSha256', 'textVersionSha256', 'language'] as const;

export type ConsentRow = Pick<
  ConsentRecord,
  'submissionId' | 'action' | 'page' | 'address' | 'userAgent'
> & { stamp: number } & Record<(typeof TEXTS)[number], string | null>;

export function readConsent(row: ConsentRow): ConsentRecord {
  const { submissionId, action, stamp, page, address, userAgent } = row;
  return {
    ...{ submissionId, action, given: action === 'granted', at: isoTime(stamp) },
    ...Object.fromEntries(TEXTS.flatMap((name) => (row[name] === null ? [] : [[name, row[name]]]))),
    ...{ page, address, userAgent },
  };
}

/** The consent of a submission `s`, as JSON of a row; null if it brought none. */
export const consentOfSubmission = Prisma.sql`
  (SELECT to_jsonb(one)
   FROM (SELECT ${consentColumns} FROM consent c WHERE c.submission_id = s.id) AS one) AS consent`;

/** Nobody is asked more often; a sender that repeats itself does not make an answer endless. */
const MOST = 1_000;

/** Every consent of a lead and of its aliases, newest first. */
export async function consentsOfLead(
  { prisma }: Store,
  lead: { workspaceId: string; id: string },
): Promise<ConsentRecord[]> {
  const rows = await prisma.$queryRaw<ConsentRow[]>`
    SELECT ${consentColumns} FROM consent c
    WHERE c.workspace_id = ${lead.workspaceId}::uuid AND c.lead_id IN (${ownIds(lead)})
    ORDER BY c.stamp DESC, c.submission_id DESC LIMIT ${MOST}`;
  return rows.map(readConsent);
}

/** A consent as a proof that is handed on: of which lead, by which link. */
export interface ConsentProof extends ConsentRecord {
  /** The lead it is of today, aliases followed. */
  leadId: string;
  linkId: string;
  /** When Postgres took it: ISO 8601, UTC. */
  recordedAt: string;
  /** When what is about the person was erased; null if it was not. */
  erasedAt: string | null;
}

type ProofRow = ConsentRow & {
  place: string;
  leadId: string;
  linkId: string;
  recordedAt: Date;
  erasedAt: Date | null;
};

const PROOFS_A_PAGE = 500;

/** The proofs of a workspace that were recorded in a time, lead by lead, in pages. */
export async function* consentProofs(
  { prisma }: Store,
  workspaceId: string,
  { since, until }: { since?: Date; until?: Date },
): AsyncGenerator<ConsentProof[]> {
  const conditions = [
    Prisma.sql`c.workspace_id = ${workspaceId}::uuid`,
    ...(since === undefined ? [] : [Prisma.sql`c.recorded_at >= ${since}::timestamptz`]),
    ...(until === undefined ? [] : [Prisma.sql`c.recorded_at < ${until}::timestamptz`]),
  ];
  const pages = pagesOf<ProofRow>(
    PROOFS_A_PAGE,
    (last) => prisma.$queryRaw`
      SELECT ${consentColumns}, c.lead_id AS place, coalesce(l.merged_into, c.lead_id) AS "leadId",
             c.link_id AS "linkId", c.recorded_at AS "recordedAt", c.erased_at AS "erasedAt"
      FROM consent c LEFT JOIN lead l ON l.workspace_id = c.workspace_id AND l.id = c.lead_id
      WHERE ${Prisma.join(conditions, ' AND ')}
        AND (c.lead_id, c.submission_id) >
          (${last?.place ?? NIL_UUID}::uuid, ${last?.submissionId ?? NIL_UUID}::uuid)
      ORDER BY c.lead_id, c.submission_id LIMIT ${PROOFS_A_PAGE}`,
  );
  for await (const rows of pages) yield rows.map(readProof);
}

const readProof = (row: ProofRow): ConsentProof => ({
  ...{ leadId: row.leadId, linkId: row.linkId },
  ...readConsent(row),
  ...{ recordedAt: row.recordedAt.toISOString(), erasedAt: row.erasedAt?.toISOString() ?? null },
});

/** The link by which a consent of a lead was asked for last, else that of its last post; null: of none is known. */
export async function consentLinkOf(
  { prisma }: Store,
  lead: { workspaceId: string; id: string },
): Promise<string | null> {
  const [row] = await prisma.$queryRaw<{ linkId: string }[]>`
    (SELECT 1 AS choice, link_id AS "linkId", stamp FROM consent
     WHERE workspace_id = ${lead.workspaceId}::uuid AND lead_id IN (${ownIds(lead)}))
    UNION ALL
    (SELECT 2, link_id, stamp FROM submission
     WHERE workspace_id = ${lead.workspaceId}::uuid AND lead_id IN (${ownIds(lead)}))
    ORDER BY choice, stamp DESC LIMIT 1`;
  return row?.linkId ?? null;
}

/** Submissions a transaction: it locks those that brought a consent, for as long as it takes. */
const SUBMISSIONS_AT_ONCE = 5_000;

/**
 * Records the consents of the next submissions that were stored before there was a table of consents.
 * Returns how many it looked through; null once there are no more. Rejects with a StoreError.
 */
export async function fillConsents(store: Store): Promise<number | null> {
  try {
    return await store.prisma.$transaction(fillSome);
  } catch (error) {
    throw withoutValues(error);
  }
}

async function fillSome(tx: Statements): Promise<number | null> {
  const [place] = await tx.$queryRaw<{ after: string; filled: boolean }[]>`
    SELECT after, filled_at IS NOT NULL AS filled FROM consent_fill FOR UPDATE`;
  if (place === undefined || place.filled) return null;
  const { after } = place;
  const page = await tx.$queryRaw<{ id: string }[]>`
    SELECT id FROM submission WHERE id > ${after}::uuid ORDER BY id LIMIT ${SUBMISSIONS_AT_ONCE}`;
  const last = page.at(-1)?.id ?? after;
  // Locked: an erasure that comes in between is seen, or sees this.
  await tx.$executeRaw`${recordConsents(Prisma.sql`
    (SELECT * FROM submission
     WHERE id > ${after}::uuid AND id <= ${last}::uuid AND consent IS NOT NULL
     ORDER BY id FOR SHARE) AS brought`)}`;
  await tx.$executeRaw`
    UPDATE consent c SET erased_at = e.erased_at
    FROM lead l JOIN erasure e
      ON e.workspace_id = l.workspace_id AND e.lead_id = coalesce(l.merged_into, l.id)
    WHERE c.submission_id > ${after}::uuid AND c.submission_id <= ${last}::uuid
      AND l.workspace_id = c.workspace_id AND l.id = c.lead_id
      AND c.erased_at IS NULL AND c.stamp <= e.erased_order`;
  await tx.$executeRaw`
    UPDATE consent_fill SET after = ${last}::uuid,
      filled_at = CASE WHEN ${page.length < SUBMISSIONS_AT_ONCE} THEN now() END`;
  return page.length;
}

/** Records what submissions of a partition brought that were accepted before a moment: they are to go. */
export async function keepConsents(
  { prisma }: Store,
  partition: string,
  horizon: Date,
): Promise<void> {
  for (;;) {
    const kept = await prisma.$executeRaw`${recordConsents(Prisma.sql`
      (SELECT * FROM ${Prisma.raw(partition)} s
       WHERE s.applied_at < ${horizon}::timestamptz AND s.consent IS NOT NULL
         AND NOT EXISTS (SELECT FROM consent c WHERE c.submission_id = s.id)
       ORDER BY s.id LIMIT ${SUBMISSIONS_AT_ONCE} FOR SHARE OF s) AS brought`)}`;
    if (kept < SUBMISSIONS_AT_ONCE) return;
  }
}

/**
 * Takes what is about the person out of the consents of erased leads, and leaves the proof: whether, to
 * which words, by which link and when. Of words that say anything that the person sent (`said`), their
 * SHA-256 stays: who has the words can show that they are these. Returns how many it was that much.
 */
export async function eraseConsents(
  tx: Statements,
  {
    workspaceId,
    leadIds,
    erasedAt,
    said,
  }: { workspaceId: string; leadIds: readonly string[]; erasedAt: Date; said: unknown },
): Promise<number> {
  await tx.$executeRaw`${recordConsents(Prisma.sql`
    (SELECT * FROM submission
     WHERE workspace_id = ${workspaceId}::uuid AND lead_id = ANY (${leadIds}::uuid[])) AS brought`)}`;
  const rows = await tx.$queryRaw<
    { id: string; text: string | null; textVersion: string | null }[]
  >`
    SELECT submission_id AS id, text, text_version AS "textVersion" FROM consent
    WHERE workspace_id = ${workspaceId}::uuid AND lead_id = ANY (${leadIds}::uuid[])
      AND erased_at IS NULL`;
  const words = new Set(wordsOf(said));
  const tells = (text: string | null): boolean => wordsOf(text).some((word) => words.has(word));
  return tx.$executeRaw`
    UPDATE consent SET
      text = CASE WHEN new.told THEN NULL ELSE text END,
      text_sha256 = CASE WHEN new.told THEN encode(sha256(convert_to(text, 'UTF8')), 'hex')
                    ELSE text_sha256 END,
      text_version = CASE WHEN new.version_told THEN NULL ELSE text_version END,
      text_version_sha256 = CASE WHEN new.version_told
        THEN encode(sha256(convert_to(text_version, 'UTF8')), 'hex') ELSE text_version_sha256 END,
      page = NULL, user_agent = NULL, address = NULL, erased_at = ${erasedAt}::timestamptz
    FROM unnest(${rows.map(({ id }) => id)}::uuid[],
                ${rows.map(({ text }) => tells(text))}::boolean[],
                ${rows.map(({ textVersion }) => tells(textVersion))}::boolean[])
      AS new (id, told, version_told)
    WHERE submission_id = new.id`;
}

/** Words of a person that a text about anything else has too. */
const SHORTEST_WORD = 3;

function wordsOf(value: unknown): string[] {
  if (typeof value === 'number') return wordsOf(String(value));
  if (typeof value === 'string')
    return normalized(value, 'NFKD')
      .replaceAll(/\p{M}/gu, '')
      .toLowerCase()
      .split(/[^\p{L}\p{N}@.+_-]+/u)
      .map((word) => word.replaceAll(/^[.+_-]+|(?<![.+_-])[.+_-]+$/g, ''))
      .filter((word) => word.length >= SHORTEST_WORD);
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(wordsOf);
}
