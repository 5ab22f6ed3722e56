import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** Columns with data of a person, and where the export of a person has them. */
const EXPORTED: Readonly<Record<string, string>> = {
  'Lead.email Lead.name Lead.telephone Lead.telephoneE164 Lead.document Lead.profession': 'lead',
  'Lead.city Lead.state Lead.instagram Lead.birthday Lead.address Lead.customFields': 'lead',
  'Lead.provenance Lead.firstTouch Lead.lastTouch Lead.creatorId Lead.mergedInto': 'lead',
  'Lead.createdAt Lead.updatedAt Lead.erasedOrder': 'lead, its erasure',
  'Identity.key Identity.createdAt': 'lead.identities',
  'PossibleDuplicate.leadA PossibleDuplicate.leadB PossibleDuplicate.createdAt':
    'lead.possibleDuplicates',
  'Consent.submissionId Consent.action Consent.text Consent.textVersion Consent.language':
    'lead.consents',
  'Consent.textSha256 Consent.textVersionSha256 Consent.page Consent.userAgent Consent.address':
    'lead.consents',
  'Consent.stamp': 'lead.consents',
  'Submission.id Submission.leadId Submission.answeredLeadId Submission.order Submission.stamp':
    'submissions',
  'Submission.source Submission.identities Submission.lead Submission.notes Submission.consent':
    'submissions',
  'Submission.body Submission.bodyType Submission.page Submission.userAgent Submission.address':
    'submissions',
  'Submission.requestId Submission.appliedAt Submission.linkId': 'submissions',
  'RejectedSubmission.id RejectedSubmission.stamp RejectedSubmission.code': 'refused',
  'RejectedSubmission.errors RejectedSubmission.body RejectedSubmission.bodyType': 'refused',
  'RejectedSubmission.page RejectedSubmission.userAgent RejectedSubmission.address': 'refused',
  'RejectedSubmission.mendedBody RejectedSubmission.mendedBodyType RejectedSubmission.mendedAt':
    'refused',
  'RejectedSubmission.submissionId RejectedSubmission.replayedAt': 'refused',
  'HeldSubmission.id HeldSubmission.content': 'held',
  'DiscardedSubmission.jobId DiscardedSubmission.content': 'discarded',
  'Erasure.reason Erasure.erasedBy Erasure.erasedAt': 'lead.erasure',
  'PersonRead.at PersonRead.action PersonRead.actorKind PersonRead.leadIds': 'reads',
  'Delivery.event Delivery.deliveredVersion Delivery.deliveredAt': 'sentTo',
};

/** Columns that no export of a person has, and why. A `*` is for all other columns of a table. */
const REASONS: Readonly<Record<string, string>> = {
  'Workspace.*': 'settings of the controller',
  'RemovedWorkspace.*': 'ids of workspaces',
  'CustomField.*': 'settings of the controller; their values are with the lead',
  'CaptureLink.*': 'settings of the controller',
  'CaptureCode.*': 'settings of the controller',
  'Endpoint.*': 'settings of the controller; name and address stand in sentTo',
  'DirectoryRevision.*': 'a count of changes of links',
  'OrderKept.*': 'a clock',
  'DirectoryChange.*': 'changes of links',
  'Retention.*': 'days and moments of tables',
  'RetentionPolicy.*': 'settings of the controller',
  'Tally.*': 'counts of links and campaigns',
  'TallyGroup.*': 'counts of links and campaigns',
  'LedgerCursor.*': 'how far counts were taken',
  'LedgerOpen.*': 'ids',
  'Alarm.*': 'counts, ids and names of fields',
  'LinkQuiet.*': 'ids and moments',
  'LinkShape.*': 'names of fields with their shares',
  'SeriesMinute.*': 'counts of links and campaigns',
  'SeriesHour.*': 'counts of links and campaigns',
  'SeriesDay.*': 'counts of links and campaigns',
  'SeriesRank.*': 'counts of links and campaigns',
  'SeriesRanking.*': 'counts of links and campaigns',
  'Campaign.*': 'names of campaigns, without what looks like an address or a number',
  'Run.*': 'how far replays and imports are; an erasure in the workspace takes all that rows left',
  'Operator.*': 'people who work with the service, who see it in their account',
  'OperatorWorkspace.*': 'as operators',
  'OperatorSession.*': 'as operators',
  'ApiToken.*': 'as operators',
  'FirstCode.*': 'as operators',
  'SignInAttempt.*': 'as operators, by a digest',
  'SecurityKey.*': 'as operators',
  'KeyChallenge.*': 'as operators, by a digest',
  'AuditEntry.*': 'what operators did: ids, no data of the person',
  'ConsentFill.*': 'how far a table was filled',
  'PersonRead.*': 'who of the controller it was, ids, and a keyed hash of what was looked for',
  'ImportedRow.*': 'a digest, so that a row is not imported twice',
  'Tombstone.*': 'a keyed hash, of a person who was erased',
  'Lead.*': 'ids and counts of this service',
  'Identity.*': 'ids',
  'PossibleDuplicate.*': 'ids',
  'Consent.*': 'ids, and when it was recorded and blanked',
  'Submission.*': 'ids',
  'RejectedSubmission.*': 'ids and when it was moved',
  'HeldSubmission.*': 'what an operator decided, and ids',
  'DiscardedSubmission.*': 'what an operator decided, and ids',
  'Erasure.*': 'ids and a check of the key',
  'Delivery.*':
    'when it is tried again, its id at the destination, the span of its commit and its link',
  'LeadChange.*': 'ids of leads that changed in the last days',
  'DeliveryAttempt.*': 'tries of the last days, without data; what arrived stands in sentTo',
};

/** Tables whose `*` is for what exists today only: a column that comes is judged by somebody. */
const JUDGED: Readonly<Record<string, readonly string[]>> = {
  Lead: ['workspaceId', 'id', 'creatorOrder', 'version'],
  Identity: ['workspaceId', 'leadId'],
  PossibleDuplicate: ['workspaceId'],
  PersonRead: ['id', 'actorName', 'workspaceId', 'sought', 'requestId'],
  Consent: ['workspaceId', 'leadId', 'linkId', 'recordedAt', 'erasedAt'],
  Submission: ['workspaceId'],
  RejectedSubmission: ['workspaceId', 'linkId', 'createdAt', 'dismissedAt'],
  HeldSubmission: ['workspaceId', 'linkId', 'reason', 'state', 'decidedAt', 'createdAt'],
  DiscardedSubmission: [
    ...['discardedAt', 'reason', 'failure', 'submissionId', 'workspaceId', 'linkId'],
  ],
  Delivery: [
    ...['endpointId', 'leadId', 'workspaceId', 'version', 'dueAt', 'attempts', 'failingSince'],
    ...['failedAt', 'resends', 'remoteIds', 'traceparent', 'linkId'],
  ],
};

/** `Table.column` of every column of the schema. */
function columns(): string[] {
  const url = new URL('../../../prisma/schema.prisma', import.meta.url);
  const models = readFileSync(url, 'utf8').matchAll(/^model (\w+) \{\n([\s\S]*?)^\}/gm);
  const all = [...models].map(([, name = '', body = '']) => ({ name, body }));
  const names = new Set(all.map(({ name }) => name));
  return all.flatMap(({ name, body }) =>
    [...body.matchAll(/^ {2}(\w+)\s+(\w+)/gm)].flatMap(([, column = '', type = '']) =>
      names.has(type) ? [] : [`${name}.${column}`],
    ),
  );
}

const exported = new Set(Object.keys(EXPORTED).flatMap((line) => line.split(' ')));

test('every column is in the export of a person, or says why it is not', () => {
  const all = columns();
  expect(all.length).toBeGreaterThan(150);
  const unjudged = all.filter((one) => {
    const [table = '', column = ''] = one.split('.');
    if (exported.has(one)) return false;
    const judged = JUDGED[table];
    return REASONS[`${table}.*`] === undefined || (judged && !judged.includes(column));
  });
  expect(unjudged).toEqual([]);
});

test('and what is named here exists', () => {
  const all = new Set(columns());
  const tables = new Set([...all].map((one) => one.split('.')[0] ?? ''));
  expect([...exported].filter((one) => !all.has(one))).toEqual([]);
  expect(Object.keys(REASONS).filter((one) => !tables.has(one.replace('.*', '')))).toEqual([]);
  const judged = Object.entries(JUDGED).flatMap(([table, names]) =>
    names.map((name) => `${table}.${name}`),
  );
  expect(judged.filter((one) => !all.has(one) || exported.has(one))).toEqual([]);
});
