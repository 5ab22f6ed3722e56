import type { CustomField, CustomValue, FieldPath, UtmField } from '@leadgate/contract';
import type { UtmTouch } from '@leadgate/leads';
import type { Store } from '../open-store.ts';
import type { ConsentRecord } from '../submissions/consent-record.ts';
import { consentsOfLead } from './consents-of-lead.ts';
import { historyOfLead, type HistoryEntry } from './history-of-lead.ts';
import { fieldsOfWorkspaces } from './fields-of-workspaces.ts';
import { isoTime } from '../iso-time.ts';
import { readProvenance } from '../stored-provenance.ts';
import { leadColumns, readLeadSummary, type LeadRow, type LeadSummary } from './lead-row.ts';

/** What set a value: the submission, and the time its facts are from. */
export interface ValueSource {
  submissionId: string;
  /** ISO 8601, UTC. */
  at: string;
}

/** A touch of a campaign. */
export type Touch = Partial<Record<UtmField, string>> & ValueSource;

/** A lead that one submission named together with this one. */
export interface PossibleDuplicate {
  leadId: string;
  name: string | null;
  email: string | null;
  telephone: string | null;
  /** When the pair was first seen: ISO 8601, UTC. */
  since: string;
}

/** All that is known of a lead. Fields are named as in a posted body. */
export interface LeadDetails extends LeadSummary {
  /** `email:…` and `phone:…` keys that are this lead. */
  identities: { kind: 'email' | 'phone'; value: string; since: string }[];
  /** Other ids that stand for this lead. */
  aliases: string[];
  /** By field path (`email`, `address.city`). */
  provenance: Partial<Record<FieldPath, ValueSource>>;
  firstTouch: Touch | null;
  lastTouch: Touch | null;
  /** The submission that created the lead; custom fields are its. */
  createdBy: string | null;
  /** The lead's custom fields with their definitions, in the workspace's order. */
  customFieldDetails: (Pick<CustomField, 'id' | 'name' | 'label' | 'type' | 'archived'> & {
    value: CustomValue;
  })[];
  possibleDuplicates: PossibleDuplicate[];
  /** Every consent that a submission brought, given or not, newest first. None is ever changed. */
  consents: ConsentRecord[];
  /** Submissions, newest first, at most as many as asked for. */
  history: HistoryEntry[];
  /** How many submissions there are in all. */
  submissions: number;
}

/** The lead of any id ever answered, aliases followed. Null where no lead has the id. */
export async function showLead(
  store: Store,
  leadId: string,
  options: { historyLimit: number },
): Promise<LeadDetails | null> {
  const [row] = await store.prisma.$queryRaw<LeadRow[]>`
    SELECT ${leadColumns}
    FROM workspace w
    JOIN lead asked ON asked.workspace_id = w.id AND asked.id = ${leadId}::uuid
    JOIN lead l ON l.workspace_id = w.id AND l.id = coalesce(asked.merged_into, asked.id)`;
  if (row === undefined) return null;
  const [fields, identities, aliases, possibleDuplicates, consents, history] = await Promise.all([
    fieldsOfWorkspaces(store, [row.workspaceId]),
    identitiesOf(store, row),
    aliasesOf(store, row),
    possibleDuplicatesOf(store, row),
    consentsOfLead(store, row),
    historyOfLead(store, row, options.historyLimit),
  ]);
  return {
    ...readLeadSummary(row, fields),
    identities,
    aliases,
    provenance: sourcesOf(row.provenance),
    firstTouch: readTouch(row.firstTouch),
    lastTouch: readTouch(row.lastTouch),
    createdBy: row.creatorId,
    customFieldDetails: fields.flatMap(({ id, name, label, type, archived }) => {
      const value = row.customFields[id];
      return value === undefined ? [] : [{ id, name, label, type, archived, value }];
    }),
    possibleDuplicates,
    consents,
    history: history.entries,
    submissions: history.total,
  };
}

async function identitiesOf(store: Store, lead: LeadRow): Promise<LeadDetails['identities']> {
  const rows = await store.prisma.$queryRaw<{ key: string; createdAt: Date }[]>`
    SELECT key, created_at AS "createdAt" FROM identity
    WHERE workspace_id = ${lead.workspaceId}::uuid AND lead_id IN (
      SELECT id FROM lead WHERE workspace_id = ${lead.workspaceId}::uuid
        AND (id = ${lead.id}::uuid OR merged_into = ${lead.id}::uuid))
    ORDER BY key`;
  return rows.map(({ key, createdAt }) => {
    const [kind, ...value] = key.split(':');
    return {
      kind: kind === 'email' ? 'email' : 'phone',
      value: value.join(':'),
      since: createdAt.toISOString(),
    };
  });
}

async function aliasesOf(store: Store, lead: LeadRow): Promise<string[]> {
  const rows = await store.prisma.$queryRaw<{ id: string }[]>`
    SELECT id FROM lead
    WHERE workspace_id = ${lead.workspaceId}::uuid AND merged_into = ${lead.id}::uuid
    ORDER BY created_at, id`;
  return rows.map(({ id }) => id);
}

async function possibleDuplicatesOf(store: Store, lead: LeadRow): Promise<PossibleDuplicate[]> {
  type Row = Omit<PossibleDuplicate, 'since'> & { since: Date };
  const rows = await store.prisma.$queryRaw<Row[]>`
    WITH own AS (
      SELECT id FROM lead WHERE workspace_id = ${lead.workspaceId}::uuid
        AND (id = ${lead.id}::uuid OR merged_into = ${lead.id}::uuid)
    ), pair AS (
      SELECT lead_b AS id, created_at FROM possible_duplicate
      WHERE workspace_id = ${lead.workspaceId}::uuid AND lead_a IN (SELECT id FROM own)
      UNION ALL
      SELECT lead_a, created_at FROM possible_duplicate
      WHERE workspace_id = ${lead.workspaceId}::uuid AND lead_b IN (SELECT id FROM own)
    ), other AS (
      -- Either side may have been merged since, even into each other.
      SELECT coalesce(l.merged_into, pair.id) AS id, min(pair.created_at) AS since
      FROM pair LEFT JOIN lead l ON l.workspace_id = ${lead.workspaceId}::uuid AND l.id = pair.id
      GROUP BY 1
    )
    SELECT other.id AS "leadId", l.name, l.email, l.telephone, other.since
    FROM other LEFT JOIN lead l ON l.workspace_id = ${lead.workspaceId}::uuid AND l.id = other.id
    WHERE other.id <> ${lead.id}::uuid
    ORDER BY other.since, other.id`;
  return rows.map((row) => ({ ...row, since: row.since.toISOString() }));
}

function sourcesOf(provenance: LeadRow['provenance']): LeadDetails['provenance'] {
  return Object.fromEntries(
    Object.entries(readProvenance(provenance)).map(([path, { submissionId, stamp }]) => [
      path,
      { submissionId, at: isoTime(stamp) },
    ]),
  );
}

function readTouch(touch: UtmTouch | null): Touch | null {
  if (touch === null) return null;
  return { ...touch.values, submissionId: touch.submissionId, at: isoTime(touch.stamp) };
}
