import {
  ADDRESS_FIELDS,
  LEAD_FIELDS,
  UTM_FIELDS,
  type FieldPath,
  type Note,
} from '@leadgate/contract';
import type { HistoryEntry, LeadDetails, LeadSummary } from '@leadgate/store';
import { pairs, table } from './table.ts';
import { shortTime } from './time.ts';

export function leadTable(leads: readonly LeadSummary[]): string {
  return table(
    ['lead', 'name', 'email', 'telephone', 'workspace', 'created', 'changed'],
    leads.map((lead) => [
      lead.leadId,
      lead.erased ? '(erased)' : (lead.name ?? null),
      lead.email ?? null,
      lead.telephone ?? null,
      lead.workspace,
      shortTime(lead.createdAt),
      shortTime(lead.updatedAt),
    ]),
  );
}

/** All that is known of a lead, in sections; empty ones are left out. */
export function leadText(lead: LeadDetails): string {
  return [head(lead), fields(lead), touches(lead), customFields(lead), identities(lead)]
    .concat(duplicates(lead), history(lead))
    .filter((section) => section !== '')
    .join('\n');
}

function head(lead: LeadDetails): string {
  return pairs([
    ['Lead', lead.leadId],
    ...(lead.erased ? [['Erased', 'its data was erased'] as const] : []),
    ...lead.aliases.map((alias) => ['Also known as', alias] as const),
    ['Workspace', lead.workspace],
    ['Created', shortTime(lead.createdAt)],
    ['Changed', shortTime(lead.updatedAt)],
  ]);
}

function fields(lead: LeadDetails): string {
  const values: [FieldPath, string | undefined][] = [
    ...LEAD_FIELDS.map((field): [FieldPath, string | undefined] => [field, lead[field]]),
    ...ADDRESS_FIELDS.map((field): [FieldPath, string | undefined] => [
      `address.${field}`,
      lead.address?.[field],
    ]),
  ];
  const rows = values.flatMap(([path, value]) => {
    const source = lead.provenance[path];
    return value === undefined
      ? []
      : [[path, value, source ? shortTime(source.at) : null, source?.submissionId ?? null]];
  });
  return rows.length === 0 ? '' : table(['field', 'value', 'set', 'by submission'], rows);
}

function touches({ firstTouch, lastTouch }: LeadDetails): string {
  if (firstTouch === null && lastTouch === null) return '';
  const rows = UTM_FIELDS.flatMap((field) => {
    const [first, last] = [firstTouch?.[field], lastTouch?.[field]];
    return first === undefined && last === undefined ? [] : [[field, first ?? null, last ?? null]];
  });
  return table(
    ['campaign', 'first touch', 'last touch'],
    [
      ...rows,
      ['at', firstTouch && shortTime(firstTouch.at), lastTouch && shortTime(lastTouch.at)],
      ['by submission', firstTouch?.submissionId ?? null, lastTouch?.submissionId ?? null],
    ],
  );
}

function customFields({ customFieldDetails }: LeadDetails): string {
  if (customFieldDetails.length === 0) return '';
  return table(
    ['custom field', 'label', 'value'],
    customFieldDetails.map(({ name, label, archived, value }) => [
      archived ? `${name} (archived)` : name,
      label,
      Array.isArray(value) ? value.join(', ') : String(value),
    ]),
  );
}

function identities(lead: LeadDetails): string {
  if (lead.identities.length === 0) return '';
  return table(
    ['identity', 'value', 'since'],
    lead.identities.map(({ kind, value, since }) => [kind, value, shortTime(since)]),
  );
}

function duplicates({ possibleDuplicates }: LeadDetails): string {
  if (possibleDuplicates.length === 0) return '';
  return table(
    ['possible duplicate', 'name', 'email', 'telephone', 'since'],
    possibleDuplicates.map(({ leadId, name, email, telephone, since }) => [
      leadId,
      name,
      email,
      telephone,
      shortTime(since),
    ]),
  );
}

function history({ history: entries, submissions }: LeadDetails): string {
  if (entries.length === 0) return '';
  const rows = entries.map((entry) => [
    shortTime(entry.acceptedAt),
    entry.linkLabel || entry.linkId,
    sentFields(entry).join(', '),
    entry.stands.join(', '),
    notesText(entry.notes),
    entry.submissionId,
  ]);
  const more =
    entries.length < submissions
      ? `The newest ${entries.length} of ${submissions} submissions; --history N shows more.\n`
      : '';
  return table(['accepted', 'link', 'sent', 'still stands', 'notes', 'submission'], rows) + more;
}

/** The fields of a submission by path. The five marks of a touch are one, as they win together. */
function sentFields({ sent, at, acceptedAt }: HistoryEntry): string[] {
  const isUtm = (field: string) => UTM_FIELDS.some((utm) => utm === field);
  const { address = {}, customFields: custom = {}, ...rest } = sent;
  return [
    ...Object.keys(rest).filter((field) => !isUtm(field)),
    ...Object.keys(address).map((field) => `address.${field}`),
    ...(Object.keys(rest).some(isUtm) ? ['utm'] : []),
    ...(Object.keys(custom).length > 0 ? ['customFields'] : []),
    ...(at === acceptedAt ? [] : [`(as of ${shortTime(at)})`]),
  ];
}

/** Notes as `code field`, or nothing. */
export function notesText(notes: readonly Note[]): string {
  return notes.map(({ field, code }) => `${code} ${field}`.trim()).join(', ');
}
