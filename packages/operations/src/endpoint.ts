import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { ENDPOINT_EVENTS, LEAD_EVENTS, type FieldError } from '@leadgate/contract';
import {
  createGuard,
  DESTINATION_KINDS,
  HUBSPOT_PER_SECOND,
  HUBSPOT_URL,
  newSecret,
} from '@leadgate/delivery';
import { queryFaults } from '@leadgate/leads';
import {
  askEndpointTest,
  createEndpoint,
  endpointBacklog,
  findEndpoint,
  findTest,
  listEndpoints,
  listTries,
  removeEndpoint,
  rotateEndpointSecret,
  setEndpointState,
  updateEndpoint,
  type Endpoint,
} from '@leadgate/store';
import { Type, type Static } from 'typebox';
import { TryView } from './delivery.ts';
import {
  invalid,
  NOTHING,
  NO_KEY,
  NOTHING_NAMED,
  operation,
  Refusal,
  type DeliverySettings,
  UNKNOWN_WORKSPACE,
} from './operation.ts';
import { ResendFilter, resendWork } from './resend.ts';
import { runOf, RunView } from './runs.ts';
import { At, Limit, Nullable, Uuid } from './schema.ts';

const members = {
  id: Uuid,
  workspaceId: Uuid,
  workspaceName: Type.String(),
  name: Type.String(),
  kind: Type.String({ description: 'webhook, or hubspot: contacts of HubSpot, by its API.' }),
  url: Type.String(),
  mapping: Nullable(
    Type.Record(Type.String(), Type.Array(Type.String()), {
      description:
        'By the destination’s name of a field, queries over the lead. Null: those of its kind.',
    }),
  ),
  headers: Type.Array(Type.String(), { description: 'Names; values are not shown.' }),
  events: Type.Array(Type.String()),
  linkIds: Type.Array(Uuid),
  perSecond: Nullable(Type.Number()),
  concurrency: Type.Integer(),
  state: Type.String({ description: 'active, paused or disabled.' }),
  reason: Nullable(Type.String({ description: 'Why it is disabled.' })),
  failingSince: Nullable(At),
  deliveredAt: Nullable(At),
  oldSecretUntil: Nullable(At),
  createdAt: At,
};
const EndpointView = Type.Object(members);
const WithSecret = Type.Object({
  ...members,
  secret: Nullable(
    Type.String({
      description: 'What messages of a webhook are verified with; shown this once.',
    }),
  ),
});

const Events = Type.Array(Type.Enum([...ENDPOINT_EVENTS]), {
  minItems: 1,
  maxItems: ENDPOINT_EVENTS.length,
  uniqueItems: true,
  description: 'What it is told of; all of leads, and no alarms, if left out.',
});

const settings = {
  url: Type.Optional(
    Type.String({
      maxLength: 4_000,
      description:
        'Where a webhook is posted to; where the API of another kind is, if not where it always is.',
    }),
  ),
  token: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 2_000,
      pattern: '^[!-~]+$',
      description:
        'What a destination that is no webhook is called with; kept encrypted, never shown.',
    }),
  ),
  mapping: Type.Optional(
    Nullable(
      Type.Record(
        Type.String({ pattern: '^[a-zA-Z][a-zA-Z0-9_]{0,99}$' }),
        Type.Array(Type.String({ maxLength: 300 }), { minItems: 1, maxItems: 5 }),
        {
          maxProperties: 100,
          description:
            'For a destination that is no webhook: by its name of a field, JSONPath queries over the lead, of which the first that finds something counts. Null: the fields that it always has.',
        },
      ),
    ),
  ),
  headers: Type.Optional(
    Type.Record(Type.String(), Type.String({ maxLength: 2_000 }), {
      maxProperties: 20,
      description: 'Headers that are sent with each message.',
    }),
  ),
  events: Type.Optional(Events),
  linkIds: Type.Optional(
    Type.Array(Uuid, {
      maxItems: 500,
      description: 'It is told of leads that came by one of these links; none: by any.',
    }),
  ),
  perSecond: Type.Optional(
    Nullable(
      Type.Number({
        minimum: 0.01,
        maximum: 1_000,
        description: 'Sends a second at most: a whole number, or less than 1. Null: no limit.',
      }),
    ),
  ),
  concurrency: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 100,
      description: 'Sends at once at most; 8 if left out.',
    }),
  ),
};
const input = { name: Type.String(), ...settings };

const CONCURRENCY = 8;
const WEEK_SECONDS = 604_800;

const UNKNOWN = new Refusal('not-found', 'There is no such endpoint.');

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
// Printable, and nothing that ends the line.
const HEADER_VALUE = /^[\t\x20-\x7e]*$/;
/** What decides where a message goes, how it is read, and whether it is genuine is not an operator's. */
const OWN_HEADERS =
  /^(host|content-.*|transfer-encoding|connection|keep-alive|upgrade|te|trailer|expect|proxy-.*|user-agent|webhook-.*)$/i;

/** What is wrong with the parts of an endpoint that are not of the store. */
function faultsOf(
  kind: string,
  { url, token, mapping, headers = {}, perSecond }: Settings,
  { allowNetworks }: DeliverySettings,
): FieldError[] {
  const fault = url === undefined ? null : createGuard({ allowNetworks }).faultOf(url);
  const errors: FieldError[] = fault === null ? [] : [{ pointer: '/url', ...fault }];
  if (kind === 'webhook') {
    const detail = 'A webhook has none: its messages are signed, and hold the whole lead.';
    for (const [name, value] of Object.entries({ token, mapping }))
      if (value !== undefined) errors.push({ pointer: `/${name}`, code: 'not-allowed', detail });
  }
  for (const { field, detail } of queryFaults(mapping ?? {}))
    errors.push({ pointer: `/mapping/${field}`, code: 'invalid', detail });
  if (kind !== 'webhook' && mapping && mapping['email'] === undefined)
    errors.push({
      pointer: '/mapping/email',
      code: 'required',
      detail: 'Contacts are found by their email: say where it is, such as $.email.',
    });
  for (const [name, value] of Object.entries(headers)) {
    const pointer = `/headers/${name.slice(0, 100)}`;
    if (!HEADER_NAME.test(name))
      errors.push({ pointer, code: 'invalid', detail: 'A header has a name that is none.' });
    else if (OWN_HEADERS.test(name))
      errors.push({ pointer, code: 'not-allowed', detail: `The header ${name} is set by itself.` });
    else if (!HEADER_VALUE.test(value))
      errors.push({
        pointer,
        code: 'invalid',
        detail: `The header ${name} holds a character that is not printable ASCII.`,
      });
  }
  if (typeof perSecond === 'number' && perSecond > 1 && !Number.isInteger(perSecond))
    errors.push({
      pointer: '/perSecond',
      code: 'invalid',
      detail: 'More than one send a second is a whole number.',
    });
  return errors;
}

const lowerCased = (headers: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));

type Settings = Partial<Static<ReturnType<typeof Type.Object<typeof input>>>>;

/** What is kept and never shown goes to the place that it was given for, and to no other. */
function faultsOfMove(known: Endpoint, { url, token, headers }: Settings): FieldError[] {
  if (url === undefined || new URL(url).origin === new URL(known.url).origin) return [];
  const errors: FieldError[] = [];
  const again = (name: string): void =>
    void errors.push({
      ...{ pointer: `/${name}`, code: 'required' },
      detail: `It was given for ${new URL(known.url).host}: give it again for another place.`,
    });
  if (known.kind !== 'webhook' && token === undefined) again('token');
  if (known.headers.length > 0 && headers === undefined) again('headers');
  return errors;
}

function settingsOf({ headers, ...given }: Settings): Parameters<typeof updateEndpoint>[2] {
  return { ...given, ...(headers !== undefined && { headers: lowerCased(headers) }) };
}

const setState = (verb: 'pause' | 'resume', state: 'active' | 'paused', summary: string) =>
  operation({
    name: `endpoint.${verb}`,
    id: `${verb}Endpoint`,
    method: 'POST',
    path: `/endpoints/:endpointId/${verb}`,
    summary,
    input: Type.Object({ endpointId: Uuid }),
    output: EndpointView,
    run: async ({ endpointId }, { store }) =>
      (await setEndpointState(store, endpointId, state)) ?? UNKNOWN,
  });

/** A send has 15 seconds, and a deliverer looks once a second. */
const TEST_WITHIN_MS = 20_000;
const TEST_LOOK_MS = 200;

/** Endpoints: addresses that are told of changed leads. */
export const endpoint = {
  list: operation({
    name: 'endpoint.list',
    id: 'listEndpoints',
    method: 'GET',
    path: '/endpoints',
    summary: 'List the addresses that are told of changed leads',
    role: 'operator',
    scope: 'workspaceId',
    input: Type.Object({ workspaceId: Type.Optional(Uuid) }),
    output: Type.Array(EndpointView),
    run: ({ workspaceId }, { store }) => listEndpoints(store, workspaceId),
  }),

  create: operation({
    name: 'endpoint.create',
    id: 'createEndpoint',
    method: 'POST',
    path: '/workspaces/:workspaceId/endpoints',
    summary: 'Create an endpoint: it is told of what changes from now on',
    description:
      'Messages of a webhook are signed as Standard Webhooks says; the secret is shown this once. Another kind is called by its own API, with its token.',
    role: 'administrator',
    subject: ['name'],
    input: Type.Object({
      workspaceId: Uuid,
      kind: Type.Optional(
        Type.Enum([...DESTINATION_KINDS], { description: 'webhook if left out.' }),
      ),
      ...input,
    }),
    output: WithSecret,
    status: 201,
    run: async ({ workspaceId, kind = 'webhook', ...given }, connections) => {
      const keyring = await connections.keyring();
      if (keyring === null) return NO_KEY;
      const isWebhook = kind === 'webhook';
      const { url = isWebhook ? null : HUBSPOT_URL, token, ...settings } = given;
      const errors = faultsOf(kind, given, await connections.deliveries());
      const required = (name: string, detail: string): void => {
        errors.push({ pointer: `/${name}`, code: 'required', detail });
      };
      if (url === null) required('url', 'Say where a webhook is posted to.');
      if (!isWebhook && token === undefined)
        required('token', 'HubSpot is called with the access token of a private app.');
      if (errors.length > 0 || url === null) return invalid(errors);
      const secret = token ?? newSecret();
      const outcome = await createEndpoint(
        connections.store,
        workspaceId,
        {
          ...{ headers: {}, events: [...LEAD_EVENTS], linkIds: [], mapping: null },
          ...{ perSecond: isWebhook ? null : HUBSPOT_PER_SECOND, concurrency: CONCURRENCY },
          ...settingsOf(settings),
          ...{ name: given.name, url },
        },
        { kind, secret, keyring },
      );
      const shown = isWebhook ? secret : null;
      return viewOf(outcome, UNKNOWN_WORKSPACE, (one) => ({ ...one, secret: shown }));
    },
  }),

  show: operation({
    name: 'endpoint.show',
    id: 'showEndpoint',
    method: 'GET',
    path: '/endpoints/:endpointId',
    summary: 'Show an endpoint',
    role: 'operator',
    input: Type.Object({ endpointId: Uuid }),
    output: EndpointView,
    run: async ({ endpointId }, { store }) => (await findEndpoint(store, endpointId)) ?? UNKNOWN,
  }),

  set: operation({
    name: 'endpoint.set',
    id: 'changeEndpoint',
    method: 'PATCH',
    path: '/endpoints/:endpointId',
    summary: 'Change an endpoint; what is not named stays, headers are given whole',
    role: 'administrator',
    changes: {
      before: ({ endpointId }, { store }) => findEndpoint(store, String(endpointId)),
      told: ['name', 'events', 'linkIds', 'perSecond', 'concurrency'],
    },
    input: Type.Object({ endpointId: Uuid, ...Type.Partial(Type.Object(input)).properties }),
    output: EndpointView,
    run: async ({ endpointId, ...given }, connections) => {
      if (Object.keys(given).length === 0) return NOTHING_NAMED;
      const { store } = connections;
      const { headers, token } = given;
      const keyring = (headers ?? token) === undefined ? null : await connections.keyring();
      if ((headers ?? token) !== undefined && keyring === null) return NO_KEY;
      const known = await findEndpoint(store, endpointId);
      if (known === null) return UNKNOWN;
      const errors = faultsOf(known.kind, given, await connections.deliveries());
      if (errors.length === 0) errors.push(...faultsOfMove(known, given));
      if (errors.length > 0) return invalid(errors);
      const changed = await updateEndpoint(store, endpointId, settingsOf(given), keyring);
      return viewOf(changed, UNKNOWN, (one) => one);
    },
  }),

  pause: setState('pause', 'paused', 'Hold deliveries back; they wait'),
  resume: setState(
    'resume',
    'active',
    'Send deliveries to a paused or disabled endpoint again, with all that waited',
  ),

  rotate: operation({
    name: 'endpoint.rotate',
    id: 'rotateEndpointSecret',
    method: 'POST',
    path: '/endpoints/:endpointId/rotate',
    summary: 'Sign with a new secret; with the old one too for the overlap',
    role: 'administrator',
    subject: ['overlapSeconds'],
    input: Type.Object({
      endpointId: Uuid,
      overlapSeconds: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 31_536_000, description: 'A week by default.' }),
      ),
    }),
    output: WithSecret,
    run: async ({ endpointId, overlapSeconds = WEEK_SECONDS }, connections) => {
      const keyring = await connections.keyring();
      if (keyring === null) return NO_KEY;
      const known = await findEndpoint(connections.store, endpointId);
      if (known !== null && known.kind !== 'webhook')
        return new Refusal('conflict', 'It is called with a token: change that one.');
      const secret = newSecret();
      const rotation = { secret, keyring, overlapSeconds };
      const one = await rotateEndpointSecret(connections.store, endpointId, rotation);
      return one === null ? UNKNOWN : { ...one, secret };
    },
  }),

  test: operation({
    name: 'endpoint.test',
    id: 'testEndpoint',
    method: 'POST',
    path: '/endpoints/:endpointId/test',
    summary: 'Have a deliverer send a signed test, also to a paused endpoint, and show the answer',
    input: Type.Object({ endpointId: Uuid }),
    output: Type.Object({
      messageId: Type.String(),
      outcome: Type.String({
        description:
          'delivered, answered (not with 2xx), refused, timeout, no-connection or broken-answer.',
      }),
      status: Nullable(Type.Integer()),
      detail: Type.String({ description: 'The beginning of the answer, or why there is none.' }),
      durationMs: Type.Integer(),
    }),
    run: async ({ endpointId }, { store }, { signal }) => {
      const testId = randomUUID();
      if (!(await askEndpointTest(store, endpointId, testId))) return UNKNOWN;
      for (const end = Date.now() + TEST_WITHIN_MS; Date.now() < end;) {
        await delay(TEST_LOOK_MS, undefined, { signal });
        const found = await findTest(store, endpointId, testId);
        if (found !== null) return found;
      }
      return new Refusal(
        'unavailable',
        'No deliverer has sent the test: is one running, and has it the same SECRETS_KEY?',
      );
    },
  }),

  stats: operation({
    name: 'endpoint.stats',
    id: 'endpointStats',
    method: 'GET',
    path: '/endpoints/:endpointId/stats',
    summary: 'Count what of an endpoint waits and what is set aside',
    role: 'operator',
    input: Type.Object({ endpointId: Uuid }),
    output: Type.Object({
      waiting: Type.Integer({ description: 'Leads that it is to be told of.' }),
      setAside: Type.Integer({
        description: 'Leads that it refused for three days while it took others: see resend.',
      }),
      oldestSeconds: Type.Number({
        description: 'How long the one has waited that is due longest.',
      }),
    }),
    run: ({ endpointId }, { store }) => endpointBacklog(store, endpointId),
  }),

  tries: operation({
    name: 'endpoint.tries',
    id: 'listTries',
    method: 'GET',
    path: '/endpoints/:endpointId/tries',
    summary: 'List what was tried and what was answered in the last 14 days, newest first',
    role: 'operator',
    // Of the erasure, too.
    afterErasure: true,
    input: Type.Object({
      endpointId: Uuid,
      leadId: Type.Optional(Uuid),
      failed: Type.Optional(Type.Boolean({ description: 'Only what was not taken.' })),
      before: Type.Optional(
        Type.String({ pattern: '^\\d{1,18}$', description: 'The id that ended the page before.' }),
      ),
      limit: Limit,
    }),
    output: Type.Array(TryView),
    run: ({ endpointId, limit = 50, ...filter }, { store }) =>
      listTries(store, endpointId, { ...filter, limit }),
  }),

  resend: operation({
    name: 'endpoint.resend',
    id: 'resendDeliveries',
    method: 'POST',
    path: '/endpoints/:endpointId/resend',
    summary: 'Send deliveries again: of a lead, those set aside, or those of a time',
    description:
      'Each is sent with its lead as it stands, under a new message id, at the pace of the endpoint. Without a filter, all that the endpoint was ever told of. Begins a run, which goes on after this is answered: see /runs.',
    // It is told of the erasure once more.
    afterErasure: true,
    subject: ['leadId', 'setAside', 'since', 'until'],
    input: Type.Object({ endpointId: Uuid, ...ResendFilter.properties }),
    output: RunView,
    run: async (parameters, connections, { actor }) => {
      const found = await findEndpoint(connections.store, parameters.endpointId);
      if (found === null) return UNKNOWN;
      const { workspaceId } = found;
      const asked = { kind: 'resend', workspaceId, parameters, begunBy: actor } as const;
      return runOf(await connections.runner.begin(connections, asked, resendWork));
    },
  }),

  remove: operation({
    name: 'endpoint.remove',
    id: 'removeEndpoint',
    method: 'DELETE',
    path: '/endpoints/:endpointId',
    summary: 'Remove an endpoint with all that waits for it, for good',
    role: 'administrator',
    input: Type.Object({ endpointId: Uuid }),
    output: NOTHING,
    run: async ({ endpointId }, { store }) =>
      (await removeEndpoint(store, endpointId)) ? null : UNKNOWN,
  }),
};

function viewOf<View>(
  outcome: Awaited<ReturnType<typeof createEndpoint>>,
  unknown: Refusal,
  view: (endpoint: Endpoint) => View,
): View | Refusal {
  switch (outcome.kind) {
    case 'done':
      return view(outcome.endpoint);
    case 'unknown':
      return unknown;
    case 'name-taken':
      return new Refusal('conflict', `An endpoint of the workspace is called "${outcome.name}".`);
    case 'invalid':
      return invalid(outcome.errors);
  }
}
