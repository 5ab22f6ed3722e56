import {
  ADDRESS_FIELDS,
  ATTRIBUTION_FIELDS,
  CUSTOM_FIELD_TYPES,
  type CustomFieldType,
  LEAD_FIELDS,
  NOTE_CODES,
  type NoteCode,
  reaches,
  roleIn,
  UTM_FIELDS,
  type UtmField,
} from '@leadgate/contract';
import { contactKeys } from '@leadgate/leads';
import {
  CursorError,
  exportLeads,
  actionsOf,
  findLeads,
  isDuplicatePair,
  isLeadPlace,
  isUuid,
  leadChanges,
  leadEvents,
  listDuplicates,
  listFields,
  listLeads,
  listWorkspaces,
  mergeLeads,
  recentLeads,
  showLead,
  splitLead,
  type LeadFilter,
  type LeadSearch,
  type LeadSummary,
  type Workspace,
} from '@leadgate/store';
import { Type, type Static, type TObject } from 'typebox';
import { eraseLead } from './erase-lead.ts';
import { exportPerson } from './person.ts';
import { maskNumbers } from './mask.ts';
import { invalid, operation, Refusal, TextFile, type Call, type Connections } from './operation.ts';
import { tellRedis } from './run.ts';
import { At, Limit, momentsOf, Nullable, open, Time, Uuid } from './schema.ts';

const OptionalText = Type.Optional(Type.String());

const texts = <N extends string>(names: readonly N[]) =>
  Object.fromEntries(names.map((name) => [name, OptionalText])) as Record<N, typeof OptionalText>;

/** Of a type that its custom field says; hidden, it is a text. */
const Value = Type.Unknown();

const summary = {
  leadId: Uuid,
  workspaceId: Uuid,
  workspace: Type.String(),
  createdAt: At,
  updatedAt: At,
  erased: Type.Boolean(),
  ...texts(LEAD_FIELDS),
  telephoneE164: Type.Optional(Type.String()),
  address: Type.Optional(open(texts(ADDRESS_FIELDS))),
  ...texts(UTM_FIELDS),
  customFields: Type.Record(Type.String(), Value, { description: 'By the name of the field.' }),
};

const Summary = open(summary, 'Its fields are named as in a posted body.');

const Touch = open({
  ...texts(UTM_FIELDS),
  attribution: Type.Optional(open(texts(ATTRIBUTION_FIELDS))),
  submissionId: Uuid,
  at: At,
});

const ToEndpoint = { endpointId: Uuid, endpoint: Type.String() };

const Notes = Type.Array(open({ field: Type.String(), code: Type.String(), detail: OptionalText }));

/** Which leads of a workspace are wanted: those that fit all of it. */
const filter = {
  linkId: Type.Optional({ ...Uuid, description: 'That a post to this link reached.' }),
  since: Type.Optional({ ...Time, description: 'Created from then on.' }),
  until: Type.Optional({ ...Time, description: 'Created before then.' }),
  ...texts(UTM_FIELDS),
  came: Type.Optional(
    Type.Union([Type.Literal('once'), Type.Literal('again')], {
      description: 'Of one submission, or of more.',
    }),
  ),
  note: Type.Optional(
    Type.Unsafe<NoteCode>(
      Type.Enum(Object.keys(NOTE_CODES), { description: 'That a submission of it has.' }),
    ),
  ),
  fieldId: Type.Optional({ ...Uuid, description: 'Of a custom field, with fieldValue.' }),
  fieldValue: Type.Optional(
    Type.String({ maxLength: 2_048, description: 'The whole value; of several, one of them.' }),
  ),
  telephone: Type.Optional(Type.Boolean({ description: 'With a telephone, or without one.' })),
  email: Type.Optional(Type.Boolean({ description: 'With an email, or without one.' })),
};
type Filter = Static<TObject<typeof filter>>;

const Side = Type.Object({
  leadId: Uuid,
  name: Nullable(Type.String()),
  email: Nullable(Type.String()),
  telephone: Nullable(Type.String()),
});

const text = Type.Optional(Type.String({ maxLength: 300 }));

const unknownLead = (id: string): Refusal =>
  new Refusal(
    'not-found',
    `No lead has the id ${id}; if it was answered just now its job may still wait.`,
  );

/** The people who were captured. */
export const lead = {
  find: operation({
    name: 'lead.find',
    id: 'findLeads',
    method: 'POST',
    path: '/leads/search',
    summary: 'Find leads by id, email, phone or name',
    description:
      'What is looked for stands in the body, so that no address holds it. A viewer gets personal data masked, finds by whole ids, emails and phones only, and looks 30 times a minute at most.',
    scope: 'workspaceId',
    role: 'viewer',
    personal: 'list',
    input: Type.Object({
      q: Type.Optional(
        Type.String({
          maxLength: 300,
          description: 'An id, an email, a phone, or a part of a name, email or phone.',
        }),
      ),
      email: text,
      telephone: text,
      name: text,
      workspaceId: Type.Optional(Uuid),
      limit: Limit,
    }),
    output: Type.Array(Summary),
    run: async ({ workspaceId, limit = 50, ...asked }, { store }, { actor }) => {
      const isViewer = !reaches(
        workspaceId === undefined ? actor.role : roleIn(actor, workspaceId),
        'operator',
      );
      if (isViewer && (await actionsOf(store, actor, 'lead.find', MINUTE_MS)) > MOST_SEARCHES)
        return TOO_MANY_SEARCHES;
      const all = await listWorkspaces(store);
      const workspaces =
        workspaceId === undefined ? all : all.filter(({ id }) => id === workspaceId);
      const search = readSearch(asked, workspaces, isViewer);
      if (search instanceof Refusal) return search;
      if (search === 'none') return [] satisfies LeadSummary[];
      const within = workspaceId === undefined ? {} : { workspaceId };
      return findLeads(store, { ...search, ...within }, limit);
    },
  }),

  list: operation({
    name: 'lead.list',
    id: 'listLeads',
    method: 'POST',
    path: '/workspaces/:workspaceId/leads/search',
    summary: 'List the leads of a workspace that fit, those stored last first',
    description:
      'What they have to fit stands in the body, so that no address holds a value of a person. A lead keeps its place whatever changes it. Where few of very many fit, a page may have fewer than asked for: it goes on as long as `next` is not null. A viewer does not filter by values.',
    role: 'viewer',
    recorded: false,
    personal: 'list',
    input: Type.Object({
      workspaceId: Uuid,
      ...filter,
      after: Type.Optional(Type.String({ description: '`next` of the page before.' })),
      limit: Limit,
    }),
    output: Type.Object({
      leads: Type.Array(Summary),
      next: Nullable(Type.String({ description: 'Null at the end.' })),
    }),
    run: async ({ after, limit = 50, ...asked }, { store }, { actor }) => {
      if (after !== undefined && !isLeadPlace(after))
        return new Refusal('malformed-request', 'after is not the next of a page.');
      const wanted = readFilter(asked);
      if (wanted instanceof Refusal) return wanted;
      const mayGuess = reaches(roleIn(actor, asked.workspaceId), 'operator');
      if (wanted.field !== undefined && !mayGuess)
        return new Refusal('not-allowed', 'A viewer does not filter by values.');
      return listLeads(store, wanted, { limit, ...(after !== undefined && { after }) });
    },
  }),

  newest: operation({
    name: 'lead.newest',
    id: 'newestLeads',
    method: 'GET',
    path: '/leads',
    summary: 'List the leads of the newest posts',
    scope: 'workspaceId',
    personal: 'list',
    input: Type.Object({ workspaceId: Type.Optional(Uuid), limit: Limit }),
    output: Type.Array(Summary),
    run: ({ workspaceId, limit = 50 }, { store }) => recentLeads(store, workspaceId, limit),
  }),

  show: operation({
    name: 'lead.show',
    id: 'showLead',
    method: 'GET',
    path: '/leads/:leadId',
    summary: 'Show a lead by any id it ever had, with history, provenance and duplicates',
    description:
      'Whole, and on record as read. Whatever asks for a lead that was erased is answered 410 with `erasure`: when, why and by whom.',
    personal: 'whole',
    input: Type.Object({
      leadId: Uuid,
      history: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 50 })),
    }),
    output: open(
      {
        ...summary,
        aliases: Type.Array(Uuid),
        submissions: Type.Integer(),
        identities: Type.Array(open({ kind: Type.String(), value: Type.String(), since: At })),
        provenance: Type.Record(Type.String(), open({ submissionId: Uuid, at: At }), {
          description: 'By field path: the submission that set the value, and its time.',
        }),
        firstTouch: Nullable(Touch),
        lastTouch: Nullable(Touch),
        createdBy: Nullable(Uuid),
        customFieldDetails: Type.Array(
          open({
            id: Uuid,
            name: Type.String(),
            label: Type.String(),
            type: Type.Unsafe<CustomFieldType>(Type.Enum([...CUSTOM_FIELD_TYPES])),
            archived: Type.Boolean(),
            value: Value,
          }),
        ),
        possibleDuplicates: Type.Array(open({ ...Side.properties, since: At })),
        consents: Type.Array(
          open({
            submissionId: Uuid,
            at: At,
            action: Type.String({ description: 'granted, refused or withdrawn.' }),
            text: OptionalText,
            textVersion: OptionalText,
            page: Nullable(Type.String()),
          }),
        ),
        history: Type.Array(
          open({
            submissionId: Uuid,
            acceptedAt: At,
            at: At,
            source: Type.String(),
            linkId: Uuid,
            linkLabel: Nullable(Type.String()),
            page: Nullable(Type.String()),
            reservedFor: Uuid,
            sent: open({}, 'Normalised.'),
            stands: Type.Array(Type.String(), { description: 'What of it the lead still has.' }),
            notes: Notes,
          }),
        ),
      },
      'All that is known of a lead.',
    ),
    run: async ({ leadId, history = 50 }, { store }) => {
      const found = await showLead(store, leadId, { historyLimit: history });
      if (found === null) return unknownLead(leadId);
      // Others, of whom this is a list.
      return { ...found, possibleDuplicates: maskNumbers(found.possibleDuplicates) };
    },
  }),

  events: operation({
    name: 'lead.events',
    id: 'listLeadEvents',
    method: 'GET',
    path: '/leads/:leadId/events',
    summary: 'List what happened with a lead besides its posts: deliveries and merges',
    input: Type.Object({ leadId: Uuid, limit: Limit }),
    output: Type.Object({
      sent: Type.Array(
        Type.Object({
          ...ToEndpoint,
          at: At,
          event: Type.String(),
          outcome: Type.String({ description: 'delivered, or why it was not.' }),
          status: Nullable(Type.Integer()),
        }),
        {
          description:
            'Newest first: tries of the last 14 days; of those before, the last that an endpoint took.',
        },
      ),
      waiting: Type.Array(Type.Object({ ...ToEndpoint, dueAt: At, attempts: Type.Integer() }), {
        description: 'What endpoints are still to be told.',
      }),
      merges: Type.Array(Type.Object({ leadId: Uuid, at: At }), {
        description: 'Leads that became this one.',
      }),
    }),
    run: async ({ leadId, limit = 50 }, { store }) =>
      (await leadEvents(store, leadId, limit)) ?? unknownLead(leadId),
  }),

  duplicates: operation({
    name: 'lead.duplicates',
    id: 'listDuplicates',
    method: 'GET',
    path: '/duplicates',
    summary: 'List pairs of leads that one submission named at once, newest first',
    scope: 'workspaceId',
    personal: 'list',
    input: Type.Object({
      workspaceId: Type.Optional(Uuid),
      leadId: Type.Optional(Uuid),
      since: Type.Optional(Time),
      until: Type.Optional(Time),
      after: Type.Optional(Type.String({ description: 'The pair that ended the page before.' })),
      limit: Limit,
    }),
    output: Type.Array(
      Type.Object({
        workspaceId: Uuid,
        a: Side,
        b: Side,
        since: At,
        pair: Type.String({ description: 'Its place in the list.' }),
      }),
    ),
    run: async ({ limit = 50, leadId, ...rest }, { store }) => {
      if (rest.after !== undefined && !isDuplicatePair(rest.after))
        return new Refusal('malformed-request', 'after is not the pair that ended a page.');
      const of = leadId === undefined ? null : await showLead(store, leadId, { historyLimit: 1 });
      if (leadId !== undefined && of === null) return unknownLead(leadId);
      const filter = { ...momentsOf(rest), ...(of !== null && { leadId: of.leadId }) };
      return listDuplicates(store, filter, limit);
    },
  }),

  merge: operation({
    name: 'lead.merge',
    id: 'mergeLeads',
    method: 'POST',
    path: '/workspaces/:workspaceId/leads/:leadId/merge/:otherId',
    summary: 'Make one lead of two: the first stays, the other’s id stands for it',
    description: 'A join of both histories: what loses stays in the history.',
    input: Type.Object({ workspaceId: Uuid, leadId: Uuid, otherId: Uuid }),
    output: Type.Object({ leadId: Uuid, merged: Type.Boolean() }),
    run: async ({ workspaceId, leadId, otherId }, connections, call) => {
      const { store } = connections;
      const outcome = await mergeLeads(store, workspaceId, leadId, otherId);
      switch (outcome.kind) {
        case 'unknown-lead':
          return unknownLead(outcome.leadId);
        case 'erased-lead':
          return new Refusal('conflict', `Lead ${outcome.leadId} was erased and cannot be merged.`);
        case 'one-lead':
          return { leadId: outcome.leadId, merged: false };
        case 'merged':
          await followInRedis(connections, call, workspaceId, outcome.moved);
          return { leadId: outcome.leadId, merged: true };
      }
    },
  }),

  split: operation({
    name: 'lead.split',
    id: 'splitLead',
    method: 'POST',
    path: '/workspaces/:workspaceId/leads/:leadId/split',
    summary: 'Take a lead apart that is several people: one lead for each email',
    description:
      'Each becomes what its own submissions make it, as if they had never met. The oldest keeps the id, and a telephone that several named. What waits in the queue still goes to the lead that it was answered with.',
    input: Type.Object({
      workspaceId: Uuid,
      leadId: Uuid,
      dryRun: Type.Optional(
        Type.Boolean({ description: 'Say what would be, and change nothing.' }),
      ),
    }),
    output: Type.Object({
      parts: Type.Array(
        Type.Object({ leadId: Uuid, email: Type.String(), submissions: Type.Integer() }),
      ),
    }),
    run: async ({ workspaceId, leadId, dryRun = false }, connections, call) => {
      const { store } = connections;
      const fields = await listFields(store, workspaceId);
      const outcome = await splitLead(store, workspaceId, leadId, fields, { dryRun });
      switch (outcome.kind) {
        case 'unknown-lead':
          return unknownLead(leadId);
        case 'erased-lead':
          return new Refusal('conflict', `Lead ${outcome.leadId} was erased.`);
        case 'one-person':
          return new Refusal(
            'conflict',
            `The submissions of lead ${outcome.leadId} name one email or none: there is nothing to take apart.`,
          );
        case 'too-many':
          return new Refusal(
            'conflict',
            `Lead ${outcome.leadId} has more than ${outcome.most} submissions, which is too many to take apart.`,
          );
        case 'split':
          await followInRedis(connections, call, workspaceId, outcome.moved);
          return { parts: outcome.parts };
      }
    },
  }),

  erase: eraseLead,

  person: exportPerson,

  changes: operation({
    name: 'lead.changes',
    id: 'listChanges',
    method: 'GET',
    path: '/workspaces/:workspaceId/changes',
    summary: 'Read what changed since a cursor, in the order of commits; without one, all leads',
    description:
      'For programs that ask instead of being told. Each lead comes as it stands. Nothing is left out: a change is given once all that began before it have ended. A cursor is good for 14 days, and on the database that gave it; with another, all leads are read again, and `restarted` says so.',
    role: 'operator',
    recorded: 'at-start',
    personal: 'whole',
    input: Type.Object({
      workspaceId: Uuid,
      after: Type.Optional(
        Type.String({ maxLength: 500, description: 'The `cursor` of the page before.' }),
      ),
      limit: Limit,
    }),
    output: Type.Object({
      changes: Type.Array(
        open(
          {
            kind: Type.String({
              description:
                'lead, with `data` as in a message; merged, with `mergedInto`; or erased.',
            }),
            leadId: Uuid,
            version: Type.Integer(),
          },
          'A lead as it stands.',
        ),
      ),
      cursor: Type.String({ description: 'To go on with, now or later.' }),
      more: Type.Boolean({ description: 'Whether there is more by now.' }),
      restarted: Type.Boolean({
        description: 'The cursor was of no use any more: these are all leads, from the first on.',
      }),
    }),
    run: async ({ workspaceId, after = null, limit = 50 }, { store }) => {
      try {
        return await leadChanges(store, workspaceId, { after, limit });
      } catch (error) {
        if (!(error instanceof CursorError)) throw error;
        return invalid([{ pointer: '/after', code: 'cursor', detail: `${error.message}.` }]);
      }
    },
  }),

  export: operation({
    name: 'lead.export',
    id: 'exportLeads',
    method: 'POST',
    path: '/workspaces/:workspaceId/leads/export',
    summary: 'Export leads, streamed; cells that a spreadsheet takes for formulas are neutral',
    description:
      'The same filter as of a list, as JSON; or as a form, with which a browser writes the answer to a file as it comes.',
    role: 'operator',
    recorded: true,
    input: Type.Object({
      workspaceId: Uuid,
      format: Type.Optional(Type.Union([Type.Literal('csv'), Type.Literal('ndjson')])),
      ...filter,
    }),
    output: null,
    run: async ({ format = 'csv', ...asked }, { store }) => {
      const { workspaceId } = asked;
      const wanted = readFilter(asked);
      if (wanted instanceof Refusal) return wanted;
      const { leadsAsCsv, leadsAsNdjson } = await import('./lead-csv.ts');
      let rows = 0;
      const found = exportLeads(store, wanted);
      const pages = (async function* () {
        for await (const page of found) {
          rows += page.length;
          yield page;
        }
      })();
      const soFar = () => rows;
      return format === 'csv'
        ? new TextFile(
            'leads.csv',
            'text/csv; charset=utf-8',
            leadsAsCsv(pages, await listFields(store, workspaceId)),
            soFar,
          )
        : new TextFile('leads.ndjson', 'application/x-ndjson', leadsAsNdjson(pages), soFar);
    },
  }),
};

function readFilter(asked: Filter & { workspaceId: string }): LeadFilter | Refusal {
  const { fieldId, fieldValue, ...others } = momentsOf(asked);
  const { utmSource, utmMedium, utmCampaign, utmContent, utmTerm, ...rest } = others;
  const utm = { utmSource, utmMedium, utmCampaign, utmContent, utmTerm };
  if ((fieldId === undefined) !== (fieldValue === undefined))
    return refuse(
      'fieldValue',
      'Say of which custom field (fieldId), and which value (fieldValue).',
    );
  return {
    ...rest,
    ...(fieldId !== undefined &&
      fieldValue !== undefined && {
        field: { id: fieldId, value: fieldValue },
      }),
    utm: Object.fromEntries(
      UTM_FIELDS.flatMap((mark): [UtmField, string][] =>
        utm[mark] === undefined ? [] : [[mark, utm[mark]]],
      ),
    ),
  };
}

/** Later posts are answered with the lead that has their email or phone now. */
async function followInRedis(
  connections: Connections,
  call: Call,
  workspaceId: string,
  moved: readonly { key: string; from: string; to: string | null }[],
): Promise<void> {
  if (moved.length === 0) return;
  await tellRedis(
    connections,
    call,
    async (redis) => {
      const { moveIdentities } = await import('@leadgate/intake');
      await moveIdentities(redis, workspaceId, moved);
    },
    'the id of the lead before is answered until leadgate rebuild runs',
  );
}

/**
 * What to look for. A viewer finds by whole ids, emails and phones only: by parts, masked data could
 * be guessed letter by letter.
 */
function readSearch(
  asked: { q?: string; email?: string; telephone?: string; name?: string },
  workspaces: readonly Workspace[],
  onlyWhole: boolean,
): LeadSearch | 'none' | Refusal {
  const given = Object.entries(asked).filter(([, value]) => value.trim() !== '');
  const [[kind, typed] = ['', '']] = given;
  if (given.length > 1)
    return refuse(kind, 'Say whom to look for by one of q, email, telephone and name.');
  // Of no workspace there are no leads, and nothing is wrong with what was typed either.
  const whole = (contact: Parameters<typeof contactKeys>[0]): LeadSearch | null =>
    workspaces.length === 0 ? {} : contactKeys(contact, workspaces);
  switch (kind) {
    case '':
      return refuse('q', 'Say whom to look for.');
    case 'email':
      return whole({ email: typed }) ?? refuse(kind, `"${typed}" is not a whole email.`);
    case 'telephone':
      return (
        whole({ telephone: typed }) ??
        refuse(kind, `"${typed}" is not a whole phone (8 to 15 digits).`)
      );
    case 'name':
      return onlyWhole ? 'none' : { name: typed };
  }
  const trimmed = typed.trim();
  if (isUuid(trimmed)) return { leadId: trimmed };
  const contact = whole({ email: trimmed }) ?? whole({ telephone: trimmed });
  if (onlyWhole) return contact ?? 'none';
  const digits = trimmed.replace(/[\s().+-]/g, '');
  return {
    ...contact,
    ...(!/\s/.test(trimmed) && { emailPart: trimmed }),
    ...(/^\d{4,15}$/.test(digits) && { telephonePart: digits }),
    name: trimmed,
  };
}

/** Of a viewer, who finds by whole contacts only: guessing them one by one is what is left. */
const MOST_SEARCHES = 30;
const MINUTE_MS = 60_000;
const TOO_MANY_SEARCHES = new Refusal(
  'slowed',
  `A viewer looks ${MOST_SEARCHES} times a minute at most.`,
);

const refuse = (member: string, detail: string): Refusal =>
  invalid([{ pointer: `/${member}`, code: 'invalid', detail }]);
