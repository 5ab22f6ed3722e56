import {
  ADDRESS_FIELDS,
  ATTRIBUTION_FIELDS,
  type FieldPath,
  type Lead,
  LEAD_FIELDS,
  type Note,
  UTM_FIELDS,
} from '@leadgate/contract';
import { touchOf } from '@leadgate/leads';
import type {
  ConsentRecord,
  DuplicatePair,
  DuplicateSide,
  HistoryEntry,
  LeadDetails,
  LeadSummary,
} from '@leadgate/store';
import { showable } from './showable.ts';
import { pairs, shortTime, table } from './table.ts';

/** Empty without any. */
export function leadTable(leads: readonly LeadSummary[]): string {
  if (leads.length === 0) return '';
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

export function duplicateTable(pairs: readonly DuplicatePair[]): string {
  const side = ({ leadId, name, email, telephone }: DuplicateSide) => [
    leadId,
    name ?? email ?? telephone,
  ];
  return table(
    ['lead', 'known as', 'other lead', 'known as', 'since'],
    pairs.map(({ a, b, since }) => [...side(a), ...side(b), shortTime(since)]),
  );
}

/** All that is known of a lead, in sections; empty ones are left out. */
export function leadText(lead: LeadDetails): string {
  return [head(lead), fields(lead), touches(lead), customFields(lead), identities(lead)]
    .concat(duplicates(lead), consentTable(lead.consents), history(lead))
    .filter((section) => section !== '')
    .join('\n');
}

function head(lead: LeadDetails): string {
  return pairs([
    ['Lead', lead.leadId],
    ...lead.aliases.map((alias) => ['Also known as', alias] as const),
    ['Workspace', lead.workspace],
    ['Created', shortTime(lead.createdAt)],
    ['Changed', shortTime(lead.updatedAt)],
  ]);
}

function fields(lead: LeadDetails): string {
  const rows = leadValues(lead).map(([path, value]) => {
    const source = lead.provenance[path];
    return [path, value, source ? shortTime(source.at) : null, source?.submissionId ?? null];
  });
  return rows.length === 0 ? '' : table(['field', 'value', 'set', 'by submission'], rows);
}

function touches({ firstTouch, lastTouch }: LeadDetails): string {
  if (firstTouch === null && lastTouch === null) return '';
  const first = { ...firstTouch, ...firstTouch?.attribution };
  const last = { ...lastTouch, ...lastTouch?.attribution };
  const rows = [...UTM_FIELDS, ...ATTRIBUTION_FIELDS].flatMap((field) =>
    first[field] === undefined && last[field] === undefined
      ? []
      : [[field, first[field] ?? null, last[field] ?? null]],
  );
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
  const total = `${submissions} ${submissions === 1 ? 'submission' : 'submissions'}`;
  const isCut = entries.length < submissions;
  const heading = `HISTORY  ${isCut ? `${entries.length} of ` : ''}${total}, newest first (* stands still)\n`;
  return heading + entries.map(historyEntry).join('') + (isCut ? 'More: --history N\n' : '');
}

function historyEntry(entry: HistoryEntry): string {
  const { acceptedAt, at, submissionId, linkLabel, linkId, source, notes } = entry;
  const facts = at === acceptedAt ? '' : `, as of ${shortTime(at)}`;
  const from = `${source === 'import' ? 'imported by' : 'by'} ${showable(linkLabel || linkId)}`;
  return [
    `${shortTime(acceptedAt)}  ${submissionId}  ${from}${facts}`,
    `  sent   ${sentFields(entry).map(showable).join(', ') || 'nothing'}`,
    ...(notes.length === 0 ? [] : [`  notes  ${showable(notesText(notes))}`]),
  ]
    .map((line) => `${line}\n`)
    .join('');
}

/** The fields of a submission by path, those that stand marked. A touch is one. */
function sentFields({ sent, stands }: HistoryEntry): string[] {
  const touch = touchOf(sent) !== null;
  const custom = Object.keys(sent.customFields ?? {}).length > 0;
  const paths = [
    ...leadValues(sent).map(([path]) => path),
    ...(touch ? ['touch'] : []),
    ...(custom ? ['customFields'] : []),
  ];
  return paths.map((path) => (stands.includes(path) ? `${path}*` : path));
}

/** The standard fields that a lead has, by path, in the order of the contract. */
export function leadValues(lead: Lead): [FieldPath, string][] {
  const fields = LEAD_FIELDS.map((field) => [field, lead[field]] as const);
  const address = ADDRESS_FIELDS.map(
    (field) => [`address.${field}` as const, lead.address?.[field]] as const,
  );
  return [...fields, ...address].flatMap(([path, value]): [FieldPath, string][] =>
    value === undefined ? [] : [[path, value]],
  );
}

/** Notes as `code field`, or nothing. */
function notesText(notes: readonly Note[]): string {
  return notes.map(({ field, code }) => `${code} ${field}`.trim()).join(', ');
}

/** Consents with what proves them; nothing if there are none. */
export function consentTable(consents: readonly ConsentRecord[]): string {
  if (consents.length === 0) return '';
  return table(
    ['consent', 'to', 'at', 'page', 'address', 'user agent', 'by submission'],
    consents.map((one) => [
      one.action,
      [one.textVersion ?? one.textVersionSha256, one.text ?? one.textSha256]
        .filter((words) => words !== undefined)
        .join(': '),
      shortTime(one.at),
      one.page,
      one.address,
      one.userAgent,
      one.submissionId,
    ]),
  );
}
