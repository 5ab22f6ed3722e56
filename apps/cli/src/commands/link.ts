import { type LinkView } from '@leadgate/operations';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import {
  LINK_DEFAULTS,
  type LinkGuardChanges,
  type LinkMapping,
  type LinkProofView,
  LinkSettings,
} from '@leadgate/contract';
import { decodeText, PRESET_NAMES, presetMapping, presetProof } from '@leadgate/leads';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { type TSchema, Type } from 'typebox';
import { call } from '../call.ts';
import { EXIT, Failure } from '../io.ts';
import {
  addCommand,
  answer,
  answerList,
  collect,
  type Context,
  type JsonOption,
} from '../command.ts';
import { findLinkNamed, findWorkspace, namedIds } from '../named.ts';
import { pairs, shortTime, table } from '../print/table.ts';
import { duration, readMoment, readSecret, rulesOf, wholeNumber } from '../read.ts';

/** Besides those of `SETTINGS`. */
interface SettingOptions extends JsonOption {
  honeypot?: string | false;
  minFill?: number | false;
  captcha?: boolean;
  captchaUrl?: string;
  captchaSecretFile?: string;
  captchaFail?: 'open' | 'closed';
}

interface ProveOptions extends JsonOption {
  preset?: (typeof PRESET_NAMES)[number];
  bodyKey?: string;
  hmacHeader?: string;
  hmacEncoding?: 'hex' | 'base64';
  hmacPrefix?: string;
  hmacTimestamp?: string;
  standardWebhooks?: boolean;
  secretFile?: string;
  none?: boolean;
}

/** Senders that prove to be it. */
const PROVABLE = PRESET_NAMES.filter((name) => presetProof(name) !== null);

interface MapOptions extends JsonOption {
  preset?: (typeof PRESET_NAMES)[number];
  rule?: string[];
  rows?: string;
  file?: string;
  try?: string;
  none?: boolean;
}

const LINK = 'code or id of the link, or its capture URL';
const WHEN = '2027-01-31, 2027-01-31T18:00:00-03:00, or from now: 30d, 12h';

export function addLinkCommands(link: Command, context: Context): void {
  const create = addCommand(link, 'create', {
    summary: 'Create an open capture link.',
    examples: [
      'link create "My agency" --label "Landing page, spring"',
      'link create "My agency" --origin https://lp.example.com --no-allow-servers --expires 90d',
    ],
  }).argument('<workspace>', 'name or id of the workspace');
  addSettings(create, false)
    .option('--expires <when>', `when it ends: ${WHEN}`, moment)
    .action(async (named: string, { expires, ...options }: SettingOptions & { expires?: Date }) => {
      const { id: workspaceId } = await findWorkspace(context.session.store(), named);
      const settings = await settingsOf(options, context.io.cwd);
      const input = { workspaceId, ...settings, expiresAt: expires };
      answerLink(context, options, await call(context, 'link.create', input));
    });

  const set = addCommand(link, 'set', {
    summary: 'Change settings of a link; what is not named stays.',
    details: 'Receivers follow at once.',
    examples: [
      'link set 3kTn0Yt1oS7cXUoVqj2a8Q --redirect-url https://lp.example.com/obrigado',
      'link set 3kTn0Yt1oS7cXUoVqj2a8Q --honeypot website --min-fill 3',
      'link set 3kTn0Yt1oS7cXUoVqj2a8Q --captcha-url https://challenges.cloudflare.com/turnstile/v0/siteverify --captcha-secret-file turnstile.txt',
    ],
  }).argument('<link>', LINK);
  addSettings(set, true)
    .option('--no-honeypot', 'no such field')
    .option('--no-min-fill', 'no such minimum')
    .option('--no-captcha', 'no CAPTCHA; its secret is forgotten')
    .action(async (named: string, options: SettingOptions) => {
      const settings = await settingsOf(options, context.io.cwd);
      await change(context, 'set', named, options, settings);
    });

  addCommand(link, 'map', {
    summary: 'Have a link read the bodies of a sender that has names of its own.',
    details:
      'A rule names a field of a lead and where it stands in the body, as JSONPath (RFC 9535). Rules given here come before those of the preset. What no rule names is not read.',
    examples: [
      'link map 3kTn0Yt1oS7cXUoVqj2a8Q --preset google-lead-form',
      "link map 3kTn0Yt1oS7cXUoVqj2a8Q --rule 'email=$.contact.mail' --rule 'customFields.plano=$.plan' --try body.json",
    ],
  })
    .argument('<link>', LINK)
    .addOption(new Option('--preset <sender>', 'the rules for a sender').choices([...PRESET_NAMES]))
    .option('--rule <field=query>', 'where a field stands (may be given again)', collect)
    .option('--rows <query>', 'where a list of leads stands, each a submission: $ or $.leads')
    .addOption(
      new Option(
        '--file <json>',
        'a whole mapping, with what is made of values (join, without, dates, values)',
      ).conflicts(['preset', 'rule', 'rows']),
    )
    .option('--try <file>', 'show what would be read of this body, and change nothing')
    .addOption(
      new Option('--none', 'read a lead’s own names again').conflicts([
        'preset',
        'rule',
        'rows',
        'file',
        'try',
      ]),
    )
    .action((named: string, options: MapOptions) => map(context, named, options));

  addCommand(link, 'suggest', {
    summary: 'Propose the rules by which the bodies of a link could be read.',
    details:
      'Looks at the last bodies, rather at those of which nothing was recognised. It prints the command that maps the link so.',
    examples: ['link suggest 3kTn0Yt1oS7cXUoVqj2a8Q'],
  })
    .argument('<link>', LINK)
    .action((named: string, options: JsonOption) => suggest(context, named, options));

  addCommand(link, 'prove', {
    summary: 'Have the sender of a link prove that a body is its own: others are answered 403.',
    details:
      'Senders that are known by name sign in their own way; others by a key in the body, an HMAC (SHA-256) in a header, or as Standard Webhooks.',
    examples: [
      'link prove 3kTn0Yt1oS7cXUoVqj2a8Q --preset google-lead-form --secret-file key.txt',
      'link prove 3kTn0Yt1oS7cXUoVqj2a8Q --hmac-header x-signature --hmac-prefix sha256= --secret-file key.txt',
      'link prove 3kTn0Yt1oS7cXUoVqj2a8Q --none',
    ],
  })
    .argument('<link>', LINK)
    .addOption(new Option('--preset <sender>', 'as this sender does it').choices(PROVABLE))
    .option('--body-key <key>', 'the secret stands at the top of the body, under this key')
    .option('--hmac-header <name>', 'the header that holds the HMAC of the body')
    .addOption(
      new Option('--hmac-encoding <way>', 'how it is written (default: hex)').choices([
        'hex',
        'base64',
      ]),
    )
    .option('--hmac-prefix <text>', 'what stands before it')
    .option('--hmac-timestamp <name>', 'the header of the time that is signed with the body')
    .option('--standard-webhooks', 'as Standard Webhooks sign')
    .option('--secret-file <file>', 'file with the secret; - for standard input')
    .addOption(new Option('--none', 'anyone may send').conflicts(['preset', 'secretFile']))
    .action(async (named: string, options: ProveOptions) => {
      if (options.none === true) return change(context, 'prove', named, options, { proof: null });
      const by = proofOf(options);
      if (by === null || options.secretFile === undefined)
        throw new Failure(
          'Give --secret-file, and one of --preset, --body-key, --hmac-header and --standard-webhooks.',
          EXIT.usage,
        );
      const secret = await readSecret(options.secretFile, context.io.cwd);
      await change(context, 'prove', named, options, { proof: { by, secret } });
    });

  addCommand(link, 'list', {
    summary: 'List capture links, closed ones too.',
    examples: ['link list', 'link list "My agency"'],
  })
    .argument('[workspace]', 'name or id of the workspace; all if left out')
    .action((named: string | undefined, options: JsonOption) => list(context, named, options));

  addCommand(link, 'show', {
    summary: 'Show a link: where to post, its settings, its codes.',
    examples: ['link show 3kTn0Yt1oS7cXUoVqj2a8Q'],
  })
    .argument('<link>', LINK)
    .action((named: string, options: JsonOption) => change(context, 'show', named, options));

  for (const [verb, summary] of [
    ['disable', 'Close a link until it is enabled again.'],
    ['enable', 'Open a disabled link.'],
  ] as const)
    addCommand(link, verb, { summary, examples: [`link ${verb} 3kTn0Yt1oS7cXUoVqj2a8Q`] })
      .argument('<link>', LINK)
      .action((named: string, options: JsonOption) => change(context, verb, named, options));

  addCommand(link, 'quiet', {
    summary: 'Have a link be quiet until a time: its silence, drift and refusals open no alarm.',
    examples: ['link quiet 3kTn0Yt1oS7cXUoVqj2a8Q --until 30d'],
  })
    .argument('<link>', LINK)
    .requiredOption('--until <time>', `until when: ${WHEN}`, moment)
    .action(async (named: string, { until, ...options }: JsonOption & { until: Date }) => {
      const { id: linkId } = await findLinkNamed(context.session.store(), named);
      await call(context, 'alarm.quiet', { linkId, until });
      answer(context.io, options, { linkId, until }, () => `Quiet until ${shortTime(until)}.\n`);
    });

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
    .action((named: string, { overlap, ...options }: JsonOption & { overlap?: number }) =>
      change(context, 'rotate', named, options, { overlapSeconds: overlap }),
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
      new Option('--at <when>', `when it ends: ${WHEN}`).argParser(moment).conflicts('never'),
    )
    .option('--never', 'it does not end')
    .action(
      (named: string, { at, never, ...options }: JsonOption & { at?: Date; never?: boolean }) =>
        change(context, 'expire', named, options, { at: never === true ? null : (at ?? 'now') }),
    );
}

const { mapping: _, ...settings } = LinkSettings.properties;

/** The settings of a link as options. A list is given item by item. */
const SETTINGS = Object.entries<TSchema>(settings).map(([name, schema]) => {
  const kinds = Type.IsUnion(schema) ? schema.anyOf : [schema];
  const [kind = schema] = kinds;
  const isList = Type.IsArray(kind);
  const flag = wordsOf(isList ? name.slice(0, -1) : name, '-');
  const taken = Type.IsInteger(kind) ? 'n' : (flag.split('-').at(-1) ?? flag);
  const { description } = { ...kind, ...schema } as { description: string };
  const option = new Option(
    `--${flag}${Type.IsBoolean(kind) ? '' : ` <${taken}>`}`,
    description.charAt(0).toLowerCase() + description.slice(1).replace(/\.$/, ''),
  );
  if (isList) option.argParser(collect);
  if (Type.IsInteger(kind)) option.argParser(wholeNumber);
  if (Type.IsLiteral(kind))
    option.choices(kinds.filter(Type.IsLiteral).map((it) => String(it.const)));
  return {
    name: name as keyof typeof settings,
    flag,
    option,
    isList,
    isSwitch: Type.IsBoolean(kind),
    isNullable: kinds.some(Type.IsNull),
  };
});

/** The settings of a link as options; what takes one away again is for `set` only. */
function addSettings(command: Command, isSet: boolean): Command {
  for (const { name, flag, option, isList, isSwitch, isNullable } of SETTINGS) {
    command.addOption(option);
    if (isSwitch && (isSet || LINK_DEFAULTS[name] === true))
      command.option(`--no-${flag}`, `the opposite of --${flag}`);
    if (isNullable && isSet) command.option(`--no-${flag}`, 'none of its own');
    if (isList && isSet)
      command.addOption(new Option(`--any-${flag}`, `any ${flag}`).conflicts(flag));
  }
  return command
    .option('--honeypot <field>', 'hold posts that fill in this field, which no person sees')
    .option(
      '--min-fill <seconds>',
      'hold posts whose form was sent sooner after the page opened',
      seconds,
    )
    .option('--captcha-url <url>', 'check the CAPTCHA here: of Turnstile, hCaptcha or reCAPTCHA')
    .option('--captcha-secret-file <file>', 'file with the CAPTCHA’s secret; - for standard input')
    .addOption(
      new Option(
        '--captcha-fail <way>',
        'if the CAPTCHA cannot be checked: open takes the lead, closed holds it (default: open)',
      ).choices(['open', 'closed']),
    );
}

/** The settings that options name; `--no-…` takes one away. */
async function settingsOf(options: SettingOptions, cwd: string) {
  const given = options as Record<string, unknown>;
  const settings = SETTINGS.map(({ name, flag, option, isList, isNullable }) => {
    const value = given[option.attributeName()];
    if (isList && given[new Option(`--any-${flag}`).attributeName()] === true) return [name, []];
    return [name, isNullable && value === false ? null : value];
  });
  // Each was read as its kind.
  return {
    ...(Object.fromEntries(settings) as Partial<LinkSettings>),
    guard: await guardOf(options, cwd),
  };
}

async function guardOf(
  { honeypot, minFill, captcha, captchaUrl, captchaSecretFile, captchaFail }: SettingOptions,
  cwd: string,
): Promise<LinkGuardChanges | undefined> {
  const asked = {
    ...(captchaUrl !== undefined && { verifyUrl: captchaUrl }),
    ...(captchaSecretFile !== undefined && { secret: await readSecret(captchaSecretFile, cwd) }),
    ...(captchaFail !== undefined && { fail: captchaFail }),
  };
  const guard: LinkGuardChanges = {
    ...(honeypot !== undefined && { honeypot: honeypot || null }),
    ...(minFill !== undefined && { minFillSeconds: minFill || null }),
    ...(captcha === false && { captcha: null }),
    ...(Object.keys(asked).length > 0 && { captcha: asked }),
  };
  return Object.keys(guard).length === 0 ? undefined : guard;
}

async function list(
  context: Context,
  named: string | undefined,
  options: JsonOption,
): Promise<void> {
  const { workspaceId } = await namedIds(context, { workspace: named });
  const links = await call(context, 'link.list', { workspaceId });
  answerList(context.io, options, links, {
    none: 'There is no link yet: leadgate link create WORKSPACE.',
    head: ['label', 'workspace', 'status', 'mode', 'unread, week', 'ends', 'code', 'id'],
    row: (link) => [
      link.label,
      link.workspaceName,
      link.status,
      link.mode,
      link.unrecognised.week || null,
      link.expiresAt === null ? null : shortTime(link.expiresAt),
      link.code,
      link.id,
    ],
  });
}

/** Does something to one link, and shows it. */
async function change(
  context: Context,
  verb: 'show' | 'set' | 'disable' | 'enable' | 'rotate' | 'expire' | 'prove',
  named: string,
  options: JsonOption,
  input: object = {},
): Promise<void> {
  const { id: linkId } = await findLinkNamed(context.session.store(), named);
  const words = {
    conflict: `The link has ended, and so would its new code: leadgate link expire ${linkId} --never (or --at) first.`,
  };
  const given = { linkId, ...input };
  answerLink(context, options, await call(context, `link.${verb}`, given, { words }));
}

async function suggest(context: Context, named: string, options: JsonOption): Promise<void> {
  const { id: linkId, codes } = await findLinkNamed(context.session.store(), named);
  const proposed = await call(context, 'link.suggest', { linkId });
  const rules = Object.entries(proposed.rules).flatMap(([field, queries]) =>
    queries.map(
      (query) =>
        `  --rule ${shellQuoted(`${field}=${typeof query === 'string' ? query : query.query}`)}`,
    ),
  );
  answer(context.io, options, proposed, () =>
    rules.length === 0
      ? `Nothing is proposed: ${proposed.bodies.toString()} bodies were looked at.\n`
      : `From ${proposed.bodies.toString()} bodies; of the last 100, nothing was recognised in ${proposed.unrecognised.toString()}:\n\n` +
        `leadgate link map ${codes[0]?.code ?? linkId} \\\n${rules.join(' \\\n')}\n\n` +
        'What came before, leadgate submission read-again reads under it.\n',
  );
}

const shellQuoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

function proofOf(options: ProveOptions): LinkProofView | null {
  const { preset, bodyKey, hmacHeader, hmacEncoding = 'hex', hmacPrefix, hmacTimestamp } = options;
  if (preset !== undefined) return presetProof(preset);
  if (bodyKey !== undefined) return { way: 'body', key: bodyKey };
  if (options.standardWebhooks === true) return { way: 'standard-webhooks' };
  if (hmacHeader === undefined) return null;
  return {
    ...{ way: 'hmac', header: hmacHeader, encoding: hmacEncoding },
    ...(hmacPrefix !== undefined && { prefix: hmacPrefix }),
    ...(hmacTimestamp !== undefined && { timestampHeader: hmacTimestamp }),
  };
}

async function map(context: Context, named: string, options: MapOptions): Promise<void> {
  const { io, session } = context;
  const link = await findLinkNamed(session.store(), named);
  if (options.none === true) return change(context, 'set', named, options, { mapping: null });
  const asked = mappingOf(options, io.cwd);
  if (options.try === undefined)
    return change(context, 'set', named, options, { mapping: asked ?? noRule() });
  const { text: body } = decodeText(readFileSync(resolve(io.cwd, options.try)));
  const read = await call(context, 'link.try', {
    ...{ linkId: link.id, body, mapping: asked ?? link.mapping ?? noRule() },
  });
  const leads = [read, ...read.others].map(({ lead, externalId }) =>
    flat({ ...lead, ...(externalId !== null && { externalId }) }),
  );
  answer(io, options, read, () =>
    leads
      .map((values) =>
        values.length > 0 ? table(['field', 'read as'], values) : 'Nothing would be read.\n',
      )
      .join('\n'),
  );
}

const noRule = (): never => {
  throw new Failure('Give --preset, --rule, --file or --none.', EXIT.usage);
};

function mappingOf(options: MapOptions, cwd: string): LinkMapping | null {
  const { preset, rule = [], rows, file } = options;
  if (file !== undefined) return mappingIn(readFileSync(resolve(cwd, file), 'utf8'));
  if (preset === undefined && rule.length === 0) return null;
  const rules: LinkMapping['rules'] = rulesOf(rule);
  const list = rows === undefined ? {} : { rows };
  if (preset === undefined) return { preset: null, rules, ...list };
  const { rules: known, ...rest } = presetMapping(preset);
  for (const [field, queries] of Object.entries(known))
    rules[field] = [...(rules[field] ?? []), ...queries].slice(0, 5);
  return { ...rest, rules, ...list };
}

/** A mapping as `link show --json` prints it; what is wrong in it is found if it is checked. */
function mappingIn(text: string): LinkMapping {
  try {
    const { preset = null, ...mapping } = JSON.parse(text) as LinkMapping;
    return { preset, ...mapping };
  } catch {
    throw new Failure('The file is no JSON.', EXIT.usage);
  }
}

/** The values of a lead by path. */
function flat(lead: object, under = ''): [string, string][] {
  return Object.entries(lead).flatMap(([name, value]: [string, unknown]) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? flat(value, `${under}${name}.`)
      : [[`${under}${name}`, String(value)] as [string, string]],
  );
}

function answerLink({ io }: Context, options: JsonOption, link: LinkView): void {
  answer(io, options, link, () => linkText(link));
}

function shown(link: LinkView, name: keyof typeof settings): string | null {
  if (name === 'linkLimit' || name === 'addressLimit') {
    const limit = link[name];
    return limit === null ? 'the receiver’s default' : `${limit} a minute`;
  }
  const value = link[name];
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  return Array.isArray(value) ? value.join(', ') || 'any' : value;
}

function linkText(link: LinkView): string {
  const { honeypot, minFillSeconds, captcha } = link.guard;
  const text = pairs([
    ['Capture URL', link.captureUrl ?? `…/ingest/${link.code} (set RECEIVER_URL to see it whole)`],
    ['Status', link.status],
    ['Ends', endOf(link)],
    ['Workspace', link.workspaceName],
    ...SETTINGS.map(({ name }): [string, string | null] => [
      name.charAt(0).toUpperCase() + wordsOf(name, ' ').slice(1),
      shown(link, name),
    ]),
    ['Honeypot', honeypot],
    ['Minimum fill time', minFillSeconds === null ? null : `${minFillSeconds} s`],
    [
      'CAPTCHA',
      captcha &&
        `${captcha.verifyUrl}, ${captcha.fail === 'open' ? 'takes' : 'holds'} what cannot be checked`,
    ],
    [
      'Proof',
      link.proof && (link.proof.way === 'hmac' ? `hmac, ${link.proof.header}` : link.proof.way),
    ],
    [
      'Mapping',
      link.mapping
        ? `${link.mapping.preset ?? 'own rules'}: ${Object.keys(link.mapping.rules).sort().join(', ')}`
        : null,
    ],
    [
      'Nothing recognised',
      link.unrecognised.week > 0
        ? `in ${link.unrecognised.week} posts of seven days, ${link.unrecognised.today} of today: leadgate link suggest ${link.code}`
        : null,
    ],
    ['Code', link.code],
    ['Id', link.id],
    ['Created', shortTime(link.createdAt)],
  ]);
  const old = link.codes.slice(1);
  if (old.length === 0) return text;
  const replaced = table(
    ['replaced code', 'status', 'ends'],
    old.map((code) => [code.code, code.expired ? 'expired' : 'still valid', endOf(code)]),
  );
  return `${text}\n${replaced}`;
}

/** A member's name as words. */
function wordsOf(name: string, between: string): string {
  return name.replace(/[A-Z]/g, (letter) => between + letter.toLowerCase());
}

const endOf = ({ expiresAt }: { expiresAt: Date | null }): string =>
  expiresAt === null ? 'never' : shortTime(expiresAt);

function moment(text: string): Date {
  const found = readMoment(text, new Date());
  if (found !== null) return found;
  throw new InvalidArgumentError(`Write it as ${WHEN}.`);
}

function seconds(text: string): number {
  if (/^\d{1,3}(\.\d{1,3})?$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Write seconds: 3 or 2.5.');
}
