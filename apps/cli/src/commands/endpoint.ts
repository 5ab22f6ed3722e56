import { ENDPOINT_EVENTS, type EndpointEvent } from '@leadgate/contract';
import { DESTINATION_KINDS, type DestinationKind } from '@leadgate/delivery';
import { isUuid, listEndpoints, type Endpoint } from '@leadgate/store';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { call } from '../call.ts';
import {
  addCommand,
  answer,
  answerList,
  collect,
  type Context,
  type JsonOption,
} from '../command.ts';
import { EXIT, Failure } from '../io.ts';
import { findLinkNamed, findWorkspace, namedIds } from '../named.ts';
import { showable } from '../print/showable.ts';
import { pairs, shortTime, table } from '../print/table.ts';
import { followRun } from './run.ts';
import { duration, past, readId, readSecret, rulesOf, wholeNumber } from '../read.ts';

interface SettingOptions extends JsonOption {
  event?: EndpointEvent[];
  link?: string[];
  anyLink?: boolean;
  rate?: number | false;
  concurrency?: number;
  headersFile?: string;
  tokenFile?: string;
  rule?: string[];
  ownRules?: true;
}

interface TriesOptions extends JsonOption {
  lead?: string;
  failed?: boolean;
  before?: string;
  limit: number;
}

interface RemoveOptions extends JsonOption {
  confirm?: string;
}

interface ResendOptions extends JsonOption {
  setAside?: true | undefined;
  since?: Date | undefined;
  until?: Date | undefined;
  all?: true;
}

const ENDPOINT = 'name or id of the endpoint';

export function addEndpointCommands(endpoint: Command, context: Context): void {
  const create = addCommand(endpoint, 'create', {
    summary: 'Create an endpoint: it is told of what changes from now on.',
    details:
      'Messages are signed (Standard Webhooks); the secret is shown this once. With --kind hubspot leads become contacts of HubSpot, by its API.',
    examples: [
      'endpoint create "My agency" hub --kind hubspot --token-file token.txt',
      'endpoint create "My agency" crm https://crm.example.com/hooks/leads',
      'endpoint create "My agency" rd https://rd.example.com/hook --rate 2 --event lead.created',
    ],
  })
    .argument('<workspace>', 'name or id of the workspace')
    .argument('<name>', 'what it is called; unique in the workspace')
    .argument('[url]', 'where messages are posted; https')
    .addOption(new Option('--kind <kind>', 'what it is').choices(DESTINATION_KINDS));
  addSettings(create).action(
    async (
      named: string,
      name: string,
      url: string | undefined,
      { kind, ...options }: SettingOptions & { kind?: DestinationKind },
    ) => {
      const { id: workspaceId } = await findWorkspace(context.session.store(), named);
      const input = { workspaceId, name, kind, url, ...(await settingsOf(context, options)) };
      const made = await call(context, 'endpoint.create', input);
      answer(context.io, options, made, () => withSecret(made));
    },
  );

  addCommand(endpoint, 'list', {
    summary: 'List the endpoints of a workspace, or of all.',
    examples: ['endpoint list', 'endpoint list "My agency"'],
  })
    .argument('[workspace]', 'name or id of the workspace')
    .action(async (named: string | undefined, options: JsonOption) => {
      const { workspaceId } = await namedIds(context, { workspace: named });
      const found = await call(context, 'endpoint.list', { workspaceId });
      answerList(context.io, options, found, {
        none: 'There is no endpoint: leadgate endpoint create WORKSPACE NAME URL.',
        head: ['name', 'workspace', 'state', 'URL', 'events', 'rate', 'last delivered', 'id'],
        row: (one) => [
          ...[one.name, one.workspaceName, stateOf(one), one.url],
          ...[one.events.map((name) => name.replace('lead.', '')).join(', '), rateOf(one)],
          one.deliveredAt === null ? null : shortTime(one.deliveredAt),
          one.id,
        ],
      });
    });

  addVerb(context, endpoint, 'show', 'Show an endpoint.');

  const set = addCommand(endpoint, 'set', {
    summary: 'Change an endpoint; what is not named stays.',
    examples: ['endpoint set crm --rate 5', 'endpoint set crm --url https://crm.example.com/v2'],
  })
    .argument('<endpoint>', ENDPOINT)
    .option('--name <name>', 'what it is called')
    .option('--url <url>', 'where messages are posted; https');
  addSettings(set)
    .option('--any-link', 'told of leads that came by any link')
    .action(async (named: string, options: SettingOptions & { name?: string; url?: string }) => {
      const { id: endpointId } = await findEndpointNamed(context, named);
      const { name, url } = options;
      const input = { endpointId, name, url, ...(await settingsOf(context, options)) };
      const one = await call(context, 'endpoint.set', input);
      answer(context.io, options, one, () => endpointText(one));
    });

  addVerb(context, endpoint, 'pause', 'Hold deliveries back; they wait.');
  addVerb(
    context,
    endpoint,
    'resume',
    'Send to a paused or disabled endpoint again, with all that waited.',
  );

  addCommand(endpoint, 'rotate', {
    summary: 'Sign with a new secret; with the old one too for the overlap.',
    examples: ['endpoint rotate crm', 'endpoint rotate crm --overlap 1d'],
  })
    .argument('<endpoint>', ENDPOINT)
    .option('--overlap <duration>', 'how long both secrets sign; a week if not named', duration)
    .action(async (named: string, { overlap, ...options }: JsonOption & { overlap?: number }) => {
      const { id: endpointId } = await findEndpointNamed(context, named);
      const input = { endpointId, overlapSeconds: overlap };
      const one = await call(context, 'endpoint.rotate', input);
      answer(context.io, options, one, () => withSecret(one));
    });

  addCommand(endpoint, 'test', {
    summary: 'Have a deliverer send a signed test, and show what is answered.',
    examples: ['endpoint test crm'],
  })
    .argument('<endpoint>', ENDPOINT)
    .action(async (named: string, options: JsonOption) => {
      const { id: endpointId } = await findEndpointNamed(context, named);
      const sent = await call(context, 'endpoint.test', { endpointId });
      answer(context.io, options, sent, () =>
        pairs([
          ['Outcome', sent.outcome],
          ['Status', sent.status],
          ['Answer', showable(sent.detail)],
          ['Took', `${sent.durationMs} ms`],
          ['Message', sent.messageId],
        ]),
      );
    });

  addCommand(endpoint, 'stats', {
    summary: 'Count what of an endpoint waits and what is set aside.',
    examples: ['endpoint stats crm'],
  })
    .argument('<endpoint>', ENDPOINT)
    .action(async (named: string, options: JsonOption) => {
      const { id: endpointId } = await findEndpointNamed(context, named);
      const stats = await call(context, 'endpoint.stats', { endpointId });
      answer(context.io, options, stats, () =>
        pairs([
          ['Waiting', stats.waiting],
          ['Set aside', stats.setAside],
          ['Oldest waits', `${Math.round(stats.oldestSeconds)} s`],
        ]),
      );
    });

  addCommand(endpoint, 'tries', {
    summary: 'List what was tried and what was answered in the last 14 days, newest first.',
    examples: [
      'endpoint tries crm',
      'endpoint tries crm --lead 7c9e6679-7425-40de-944b-e07fc1f90ae7',
    ],
  })
    .argument('<endpoint>', ENDPOINT)
    .option('--lead <id>', 'only of this lead')
    .option('--failed', 'only what was not taken')
    .option('--before <id>', 'only those before this one in the list: the next page')
    .option('--limit <n>', 'how many at most', wholeNumber, 50)
    .action(async (named: string, { lead, failed, before, limit, ...options }: TriesOptions) => {
      const { id: endpointId } = await findEndpointNamed(context, named);
      const leadId = lead && readId(lead, 'lead');
      const input = { endpointId, leadId, failed, before, limit };
      const tries = await call(context, 'endpoint.tries', input);
      answer(context.io, options, tries, () => triesText(tries));
    });

  addCommand(endpoint, 'resend', {
    summary:
      'Send deliveries again: those set aside, or those of a time on; delivery resend sends one.',
    details:
      'Each is sent with its lead as it stands, under a new message id, at the pace of the endpoint. It is a run: see leadgate run.',
    examples: [
      'endpoint resend crm --set-aside',
      'endpoint resend crm --since 1d',
      'endpoint resend crm --all',
    ],
  })
    .argument('<endpoint>', ENDPOINT)
    .option('--set-aside', 'those that it refused for three days while it took others')
    .option(
      '--since <time>',
      'those last delivered from then on: a time, a date, or how long ago',
      past,
    )
    .option('--until <time>', 'those last delivered before then, or never', past)
    .option('--all', 'all that it was ever told of')
    .action(async (named: string, { all, ...given }: ResendOptions) => {
      const { setAside, since, until, ...options } = given;
      if ([setAside, since, until, all].every((one) => one === undefined))
        throw new Failure('Say which: --set-aside, --since, --until or --all.', EXIT.usage);
      const { id: endpointId } = await findEndpointNamed(context, named);
      const input = { endpointId, setAside, since, until };
      await resend(context, input, options);
    });

  addCommand(endpoint, 'remove', {
    summary: 'Remove an endpoint with all that waits for it, for good.',
    examples: ['endpoint remove crm --confirm crm'],
  })
    .argument('<endpoint>', ENDPOINT)
    .option('--confirm <name>', 'its name once more')
    .action(async (named: string, { confirm, ...options }: RemoveOptions) => {
      const { id: endpointId, name } = await findEndpointNamed(context, named);
      if (confirm !== name)
        throw new Failure(`Say --confirm with its name, "${showable(name)}".`, EXIT.usage);
      await call(context, 'endpoint.remove', { endpointId });
      answer(context.io, options, { removed: endpointId }, () => pairs([['Removed', name]]));
    });
}

/** Has deliveries sent again, which is a run, and follows it to its end. */
export async function resend(
  context: Context,
  which: { endpointId: string; leadId?: string } & Omit<ResendOptions, 'all' | 'json'>,
  options: JsonOption,
): Promise<void> {
  const { id } = await call(context, 'endpoint.resend', which);
  const { progress } = await followRun(context, id);
  const resent = progress['resent'] ?? 0;
  answer(context.io, options, { resent, run: id }, () => pairs([['Sent again', resent]]));
}

interface Tried {
  id: string;
  at: Date | string;
  leadId: string | null;
  alarmId: string | null;
  version: number | null;
  event: string;
  outcome: string;
  status: number | null;
  detail: string;
}

/** What a delivery is of. */
export const subjectOf = ({ leadId, alarmId }: Pick<Tried, 'leadId' | 'alarmId'>): string | null =>
  alarmId === null ? leadId : `alarm ${alarmId}`;

export const triesText = (tries: readonly Tried[]): string =>
  table(
    ['at', 'event', 'lead or alarm', 'version', 'outcome', 'status', 'answer', 'id'],
    tries.map((one) => [
      ...[shortTime(one.at), one.event, subjectOf(one), one.version],
      ...[one.outcome, one.status, showable(one.detail.slice(0, 60)), one.id],
    ]),
  );

/** A command that takes an endpoint and shows it. */
function addVerb(
  context: Context,
  endpoint: Command,
  verb: 'show' | 'pause' | 'resume',
  summary: string,
): void {
  addCommand(endpoint, verb, { summary, examples: [`endpoint ${verb} crm`] })
    .argument('<endpoint>', ENDPOINT)
    .action(async (named: string, options: JsonOption) => {
      const { id: endpointId } = await findEndpointNamed(context, named);
      const one = await call(context, `endpoint.${verb}`, { endpointId });
      answer(context.io, options, one, () => endpointText(one));
    });
}

function addSettings(command: Command): Command {
  return command
    .addOption(
      new Option(
        '--event <event>',
        'told of this; may be repeated; of all of leads, and no alarms, if not named',
      )
        .choices(ENDPOINT_EVENTS)
        .argParser((value: string, before?: EndpointEvent[]) => [...(before ?? []), event(value)]),
    )
    .option(
      '--link <link>',
      'told of leads that came by this link (code, id or URL); may be repeated',
      collect,
    )
    .option('--rate <number>', 'sends a second at most', rate)
    .option('--no-rate', 'no limit of sends a second')
    .option('--concurrency <number>', 'sends at once at most', wholeNumber)
    .option('--headers-file <file>', 'headers to send, one "Name: value" a line; - reads them')
    .option('--token-file <file>', 'what HubSpot is called with; - reads it')
    .option(
      '--rule <property=query>',
      'a property of HubSpot and the JSONPath of a lead that it is; may be repeated, then all are to be named',
      collect,
    )
    .option('--own-rules', 'the properties that every account of HubSpot has');
}

async function settingsOf(
  { session, io }: Context,
  { event: events, link, anyLink, rate, concurrency, ...given }: SettingOptions,
) {
  const { headersFile, tokenFile, rule, ownRules } = given;
  const links = await Promise.all(
    (link ?? []).map((named) => findLinkNamed(session.store(), named)),
  );
  return {
    events,
    linkIds: link !== undefined ? links.map(({ id }) => id) : anyLink === true ? [] : undefined,
    perSecond: rate === false ? null : rate,
    concurrency,
    token: tokenFile === undefined ? undefined : await readSecret(tokenFile, io.cwd),
    mapping: rule !== undefined ? rulesOf(rule) : ownRules === true ? null : undefined,
    headers:
      headersFile === undefined ? undefined : headersOf(await readSecret(headersFile, io.cwd)),
  };
}

function headersOf(text: string): Record<string, string> {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  return Object.fromEntries(
    lines.map((line, at) => {
      const [, name = '', value = ''] = /^([^:\s]+)\s*:(.*)$/.exec(line.trim()) ?? [];
      if (name === '')
        throw new Failure(`Line ${at + 1} of the headers is not "Name: value".`, EXIT.usage);
      return [name, value.trim()];
    }),
  );
}

/** The endpoint of an id or a name. Rejects with a Failure if there is none, or more than one. */
export async function findEndpointNamed({ session }: Context, named: string): Promise<Endpoint> {
  const wanted = named.normalize('NFC').trim();
  const found = (await listEndpoints(session.store())).filter(({ id, name }) =>
    isUuid(wanted) ? id === wanted.toLowerCase() : name === wanted,
  );
  const [one] = found;
  if (one === undefined)
    throw new Failure(
      `There is no endpoint "${showable(named)}"; leadgate endpoint list shows those there are.`,
    );
  if (found.length > 1)
    throw new Failure(
      `${found.length} workspaces have an endpoint "${showable(named)}": name it by its id (leadgate endpoint list).`,
    );
  return one;
}

const stateOf = ({ state, failingSince }: Endpoint): string =>
  state === 'active' && failingSince !== null ? 'failing' : state;

const rateOf = ({ perSecond }: Endpoint): string =>
  perSecond === null ? 'no limit' : `${perSecond} a second`;

function endpointText(one: Endpoint): string {
  return pairs([
    ['Name', one.name],
    ['Workspace', one.workspaceName],
    ['Kind', one.kind],
    ['URL', one.url],
    ['State', stateOf(one)],
    ['Why', one.reason],
    ['Failing since', one.failingSince && shortTime(one.failingSince)],
    ['Last delivered', one.deliveredAt && shortTime(one.deliveredAt)],
    ['Events', one.events.join(', ')],
    ['Links', one.linkIds.length === 0 ? 'any' : one.linkIds.join(', ')],
    ['Rate', rateOf(one)],
    ['Concurrency', one.concurrency],
    ['Rules', one.mapping && Object.keys(one.mapping).join(', ')],
    ['Headers', one.headers.join(', ')],
    ['Old secret until', one.oldSecretUntil && shortTime(one.oldSecretUntil)],
    ['Id', one.id],
    ['Created', shortTime(one.createdAt)],
  ]);
}

const withSecret = (one: Endpoint & { secret: string | null }): string =>
  one.secret === null
    ? endpointText(one)
    : `${endpointText(one)}${pairs([['Secret', `${one.secret}  (shown this once)`]])}`;

function event(text: string): EndpointEvent {
  const found = ENDPOINT_EVENTS.find((one) => one === text);
  if (found !== undefined) return found;
  throw new InvalidArgumentError(`It is one of ${ENDPOINT_EVENTS.join(', ')}.`);
}

function rate(text: string): number {
  if (/^\d{1,4}(\.\d{1,2})?$/.test(text) && Number(text) > 0) return Number(text);
  throw new InvalidArgumentError('Write sends a second: 2 or 0.5.');
}
