import {
  createLink,
  expireLink,
  listLinks,
  rotateLink,
  setLinkState,
  wholeGuard,
  type Link,
} from '@leadgate/store';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { addCommand, addNoun, answer, collect, type Context, type JsonOption } from '../command.ts';
import { Failure } from '../failure.ts';
import { findLinkNamed } from '../find-link.ts';
import { findWorkspace } from '../find-workspace.ts';
import { addGuardOptions, readGuardOptions, type GuardOptions } from '../link-guard-options.ts';
import { answerLink, linkTable, printedLink } from '../print/link.ts';
import { addLinkSet } from './link-set.ts';
import { shortTime } from '../print/time.ts';
import { readDuration } from '../read/duration.ts';
import { readMoment } from '../read/moment.ts';
import { wholeNumber } from '../read/whole-number.ts';
import { refused } from '../refused.ts';
import { tellLink } from '../tell-redis.ts';

interface CreateOptions extends JsonOption, GuardOptions {
  label?: string;
  mode: 'strict' | 'lenient';
  requireIdentity?: boolean;
  origin?: string[];
  allowServers: boolean;
  redirectUrl?: string;
  expires?: Date;
  linkLimit?: number;
  addressLimit?: number;
}

const WEEK = 604_800;
const LINK = 'code or id of the link, or its capture URL';
const WHEN = '2027-01-31, 2027-01-31T18:00:00-03:00, or from now: 30d, 12h';

export function addLinkCommands(program: Command, context: Context): void {
  const link = addNoun(
    program,
    'link',
    'Create and change capture links, which landing pages post leads to.',
  );

  const createCommand = addCommand(link, 'create', {
    summary: 'Create an open capture link.',
    examples: [
      'link create "My agency" --label "Landing page, spring"',
      'link create "My agency" --origin https://lp.example.com --no-allow-servers --expires 90d',
    ],
  })
    .argument('<workspace>', 'name or id of the workspace')
    .option('--label <label>', 'what operators see; need not be unique')
    .addOption(
      new Option(
        '--mode <mode>',
        'strict refuses a lead with a bad field; lenient sets the field aside',
      )
        .choices(['strict', 'lenient'])
        .default('strict'),
    )
    .option('--require-identity', 'refuse leads without email and telephone')
    .option(
      '--origin <origin>',
      'an origin (scheme://host[:port]) that may post; may be repeated (default: any)',
      collect,
    )
    .option('--allow-servers', 'with origins: take posts without an Origin header too', true)
    .option('--no-allow-servers', 'with origins: refuse posts without an Origin header')
    .option('--redirect-url <url>', 'where a plain HTML form goes after its lead was taken')
    .option('--expires <when>', `when it ends: ${WHEN}`, momentAhead)
    .option('--link-limit <n>', 'posts a minute on this link', wholeNumber)
    .option('--address-limit <n>', 'posts a minute from one network address', wholeNumber);
  addGuardOptions(createCommand).action((workspace: string, options: CreateOptions) =>
    create(context, workspace, options),
  );
  addLinkSet(link, context, LINK);

  addCommand(link, 'list', {
    summary: 'List capture links, closed ones too.',
    examples: ['link list', 'link list "My agency"'],
  })
    .argument('[workspace]', 'name or id of the workspace; all where left out')
    .action((workspace: string | undefined, options: JsonOption) =>
      list(context, workspace, options),
    );

  addCommand(link, 'show', {
    summary: 'Show a link: where to post, its settings, its codes.',
    examples: ['link show 3kTn0Yt1oS7cXUoVqj2a8Q'],
  })
    .argument('<link>', LINK)
    .action((named: string, options: JsonOption) => show(context, named, options));

  for (const { verb, state, summary } of [
    { verb: 'disable', state: 'disabled', summary: 'Close a link until it is enabled again.' },
    { verb: 'enable', state: 'open', summary: 'Open a disabled link.' },
  ] as const)
    addCommand(link, verb, { summary, examples: [`link ${verb} 3kTn0Yt1oS7cXUoVqj2a8Q`] })
      .argument('<link>', LINK)
      .action((named: string, options: JsonOption) => setState(context, named, state, options));

  addCommand(link, 'rotate', {
    summary: 'Give a link a new code at once; the old one stays valid for the overlap.',
    examples: [
      'link rotate 3kTn0Yt1oS7cXUoVqj2a8Q --overlap 2d',
      'link rotate 3kTn0Yt1oS7cXUoVqj2a8Q --overlap 0',
    ],
  })
    .argument('<link>', LINK)
    .option(
      '--overlap <duration>',
      'how long old codes stay valid: 0, 12h, 2d (default: 7d)',
      duration,
    )
    .action((named: string, options: JsonOption & { overlap?: number }) =>
      rotate(context, named, options),
    );

  addCommand(link, 'expire', {
    summary: 'End a link, at once or at a time, or take its end away.',
    examples: [
      'link expire 3kTn0Yt1oS7cXUoVqj2a8Q',
      'link expire 3kTn0Yt1oS7cXUoVqj2a8Q --at 2027-01-31T18:00:00-03:00',
    ],
  })
    .argument('<link>', LINK)
    .addOption(
      new Option('--at <when>', `when it ends: ${WHEN}`).argParser(momentAhead).conflicts('never'),
    )
    .option('--never', 'it does not end')
    .action((named: string, options: JsonOption & { at?: Date; never?: boolean }) =>
      expire(context, named, options),
    );
}

async function create(
  context: Context,
  workspaceName: string,
  options: CreateOptions,
): Promise<void> {
  const store = context.session.store();
  const workspace = await findWorkspace(store, workspaceName);
  const outcome = await createLink(store, workspace.id, {
    label: options.label ?? '',
    mode: options.mode,
    requireIdentity: options.requireIdentity ?? false,
    origins: options.origin ?? [],
    allowServers: options.allowServers,
    redirectUrl: options.redirectUrl ?? null,
    linkLimit: options.linkLimit ?? null,
    addressLimit: options.addressLimit ?? null,
    expiresAt: options.expires ?? null,
    guard: wholeGuard(await readGuardOptions(options, context.io.cwd)),
  });
  if (outcome.kind === 'invalid') throw refused(outcome.errors);
  if (outcome.kind === 'unknown-workspace') throw new Failure('The workspace is gone.');
  await tellLink(context, outcome.link.id);
  answerLink(context, outcome.link, options);
}

async function list(
  { io, session }: Context,
  workspaceName: string | undefined,
  options: JsonOption,
): Promise<void> {
  const store = session.store();
  const workspace =
    workspaceName === undefined ? undefined : await findWorkspace(store, workspaceName);
  const { receiverUrl } = session.servers();
  const links = (await listLinks(store, workspace?.id)).map((link) =>
    printedLink(link, receiverUrl),
  );
  answer(io, options, links, () =>
    links.length === 0
      ? 'There is no link yet: leadgate link create WORKSPACE.\n'
      : linkTable(links),
  );
}

async function show(context: Context, named: string, options: JsonOption): Promise<void> {
  answerLink(context, await findLinkNamed(context.session.store(), named), options);
}

async function setState(
  context: Context,
  named: string,
  state: Link['state'],
  options: JsonOption,
): Promise<void> {
  const store = context.session.store();
  const { id } = await findLinkNamed(store, named);
  const link = await setLinkState(store, id, state);
  await tellLink(context, id);
  answerChanged(context, link, options);
}

async function rotate(
  context: Context,
  named: string,
  options: JsonOption & { overlap?: number },
): Promise<void> {
  const store = context.session.store();
  const { id } = await findLinkNamed(store, named);
  const outcome = await rotateLink(store, id, options.overlap ?? WEEK);
  if (outcome.kind === 'unknown-link') throw new Failure('The link is gone.');
  if (outcome.kind === 'expired')
    throw new Failure(
      `The link has ended, and so would its new code: leadgate link expire ${id} --never (or --at) first.`,
    );
  await tellLink(context, id);
  answerLink(context, outcome.link, options);
}

async function expire(
  context: Context,
  named: string,
  options: JsonOption & { at?: Date; never?: boolean },
): Promise<void> {
  const store = context.session.store();
  const { id } = await findLinkNamed(store, named);
  const end = options.never === true ? null : (options.at ?? 'now');
  const link = await expireLink(store, id, end);
  await tellLink(context, id);
  answerChanged(context, link, options);
}

function answerChanged(context: Context, link: Link | null, options: JsonOption): void {
  if (link === null) throw new Failure('The link is gone.');
  answerLink(context, link, options);
}

function momentAhead(text: string): Date {
  const now = new Date();
  const moment = readMoment(text, now);
  if (moment === null) throw new InvalidArgumentError(`Write it as ${WHEN}.`);
  if (moment <= now) throw new InvalidArgumentError(`It is past: ${shortTime(moment)}.`);
  return moment;
}

function duration(text: string): number {
  const seconds = readDuration(text);
  if (seconds === null) throw new InvalidArgumentError('Write it as 0, 90s, 30m, 12h, 7d or 2w.');
  return seconds;
}
