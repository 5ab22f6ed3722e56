import {
  CAPTCHA_URLS,
  type CaptureLink,
  externalIdOf,
  LinkProof,
  LinkProofView,
  LINK_DEFAULTS,
  LinkGuardChanges,
  LinkGuardView,
  LinkMapping,
  LinkSettings,
} from '@leadgate/contract';
import {
  mappingFaults,
  parseBody,
  PRESET_NAMES,
  presetMapping,
  readSent,
  refusingNothing,
  rowsOf,
  soleItem,
  suggestRules,
} from '@leadgate/leads';
import {
  createLink,
  expireLink,
  findLink,
  linkActivity,
  linkEntries,
  listLinks,
  listSubmissions,
  rotateLink,
  setLinkState,
  showSubmission,
  type Unrecognised,
  unrecognisedPosts,
  updateLink,
  wholeGuard,
  type Link,
} from '@leadgate/store';
import { Type } from 'typebox';
import { v7 as uuidv7 } from 'uuid';
import {
  invalid,
  NO_KEY,
  NOTHING_NAMED,
  operation,
  refilling,
  Refusal,
  type Call,
  type Connections,
  UNKNOWN_WORKSPACE,
} from './operation.ts';
import { tellRedis } from './run.ts';
import { At, Nullable, open, Time, Uuid } from './schema.ts';

const CodeView = Type.Object({
  code: Type.String(),
  captureUrl: Nullable(Type.String()),
  createdAt: At,
  expiresAt: Nullable(At),
  expired: Type.Boolean(),
});

const LinkOutput = Type.Object({
  id: Uuid,
  workspaceId: Uuid,
  workspaceName: Type.String(),
  state: Type.String(),
  status: Type.String({ description: 'open, disabled or expired.' }),
  code: Type.String({ description: 'The code in use.' }),
  captureUrl: Nullable(Type.String()),
  createdAt: At,
  expiresAt: Nullable(At),
  ...LinkSettings.properties,
  guard: LinkGuardView,
  proof: Nullable(LinkProofView),
  unrecognised: Type.Object(
    { today: Type.Integer(), week: Type.Integer() },
    {
      description:
        'Posts of which nothing was recognised: of today, and of the last seven days, of the workspace’s time zone. See /links/ID/suggestion, and /links/ID/read-again.',
    },
  ),
  codes: Type.Array(CodeView),
});

/** A link with the code in use and where it is posted to. */
export interface LinkView extends Omit<Link, 'codes'> {
  status: 'open' | 'disabled' | 'expired';
  code: string;
  /** Null if nothing says where the receiver is. */
  captureUrl: string | null;
  expiresAt: Date | null;
  unrecognised: Unrecognised;
  /** Newest first: the code in use, then those that a rotation replaced. */
  codes: (Link['codes'][number] & { captureUrl: string | null; expired: boolean })[];
}

async function viewLinks(
  { store, receiverUrl }: Pick<Connections, 'store' | 'receiverUrl'>,
  links: readonly Link[],
): Promise<LinkView[]> {
  const unrecognised = await unrecognisedPosts(
    store,
    links.map(({ id }) => id),
  );
  const none = { today: 0, week: 0 };
  return links.map((link) => ({
    ...viewLink(link, receiverUrl),
    unrecognised: unrecognised.get(link.id) ?? none,
  }));
}

function viewLink(link: Link, receiverUrl: string | null): Omit<LinkView, 'unrecognised'> {
  const now = new Date();
  const codes = link.codes.map((code) => ({
    ...code,
    captureUrl: receiverUrl === null ? null : `${receiverUrl}/ingest/${code.code}`,
    expired: code.expiresAt !== null && code.expiresAt <= now,
  }));
  const [current] = codes;
  if (current === undefined) throw new Error('a link has lost its code');
  const { code, captureUrl, expiresAt, expired } = current;
  const status = link.state === 'disabled' ? 'disabled' : expired ? 'expired' : 'open';
  return { ...link, status, code, captureUrl, expiresAt, codes };
}

const UNKNOWN = new Refusal('not-found', 'There is no such link.');

/** An end that is past already: a slip, as a link is ended at once by saying so. */
function pastEnd(pointer: string, end: Date | null): Refusal | null {
  if (end === null || end.getTime() > Date.now()) return null;
  const detail = `The end is past: ${end.toISOString()}.`;
  return invalid([{ pointer, code: 'past', detail }]);
}

const dateOf = (text: string | null | undefined): Date | null =>
  typeof text === 'string' ? new Date(text) : null;

/** What a secret is stored under, if there is one. */
async function keyringFor(
  holder: { secret?: string } | null | undefined,
  { keyring }: Connections,
): Promise<Awaited<ReturnType<Connections['keyring']>> | Refusal> {
  return holder?.secret === undefined ? null : ((await keyring()) ?? NO_KEY);
}

/** A link that was changed, once receivers were told of it. */
async function changed(
  link: Link | null,
  connections: Connections,
  call: Call,
): Promise<LinkView | Refusal> {
  if (link === null) return UNKNOWN;
  const entries = await linkEntries(connections.store, link.id);
  await tellRedis(connections, call, async (redis) => {
    const { putLinks } = await import('@leadgate/intake');
    await putLinks(redis, entries);
  });
  const [view] = await viewLinks(connections, [link]);
  return view ?? UNKNOWN;
}

const changes = {
  ...Type.Partial(LinkSettings).properties,
  guard: Type.Optional(LinkGuardChanges),
};

const notABody = (code: string): Refusal =>
  invalid([{ pointer: '/body', code, detail: 'It is no JSON object and no form.' }]);

const TriedBody = Type.Object({
  lead: open({}, 'What would be read, normalised.'),
  externalId: Nullable(Type.String()),
  notes: Type.Array(open({ field: Type.String(), code: Type.String() })),
});

/** The leads of a body: the rows of a list, as the link’s mapping says, or the body itself. */
const rowsIn = (body: unknown, link: Pick<CaptureLink, 'mapping'>): unknown[] =>
  (link.mapping && rowsOf(body, link.mapping)) ?? [soleItem(body, link)];

const BODIES_LOOKED_AT = 20;

const WEEK_SECONDS = 604_800;

const setState = (verb: 'disable' | 'enable', state: Link['state'], summary: string) =>
  operation({
    name: `link.${verb}`,
    id: `${verb}Link`,
    method: 'POST',
    path: `/links/:linkId/${verb}`,
    summary,
    input: Type.Object({ linkId: Uuid }),
    output: LinkOutput,
    run: async ({ linkId }, connections, call) =>
      changed(await setLinkState(connections.store, linkId, state), connections, call),
  });

/** Capture links, which landing pages post leads to. */
export const link = {
  list: operation({
    name: 'link.list',
    id: 'listLinks',
    method: 'GET',
    path: '/links',
    summary: 'List capture links, closed ones too',
    scope: 'workspaceId',
    input: Type.Object({ workspaceId: Type.Optional(Uuid) }),
    output: Type.Array(LinkOutput),
    run: async ({ workspaceId }, connections) =>
      viewLinks(connections, await listLinks(connections.store, workspaceId)),
  }),

  create: operation({
    name: 'link.create',
    id: 'createLink',
    method: 'POST',
    path: '/workspaces/:workspaceId/links',
    summary: 'Create an open capture link',
    subject: ['label'],
    input: Type.Object({
      workspaceId: Uuid,
      ...changes,
      expiresAt: Type.Optional(Nullable(Time)),
    }),
    output: LinkOutput,
    status: 201,
    run: async ({ workspaceId, guard, expiresAt: end, ...settings }, connections, call) => {
      const expiresAt = dateOf(end);
      const past = pastEnd('/expiresAt', expiresAt);
      if (past !== null) return past;
      const keyring = await keyringFor(guard?.captcha, connections);
      if (keyring instanceof Refusal) return keyring;
      const wanted = { ...LINK_DEFAULTS, ...settings, expiresAt, guard: wholeGuard(guard) };
      const outcome = await createLink(connections.store, workspaceId, wanted, keyring);
      if (outcome.kind === 'invalid') return invalid(outcome.errors);
      if (outcome.kind === 'unknown-workspace') return UNKNOWN_WORKSPACE;
      warnOfCaptcha(guard?.captcha?.verifyUrl, call);
      return changed(outcome.link, connections, call);
    },
  }),

  show: operation({
    name: 'link.show',
    id: 'showLink',
    method: 'GET',
    path: '/links/:linkId',
    summary: 'Show a capture link',
    input: Type.Object({ linkId: Uuid }),
    output: LinkOutput,
    run: async ({ linkId }, connections) => {
      const found = await findLink(connections.store, linkId);
      const [view] = await viewLinks(connections, found === null ? [] : [found]);
      return view ?? UNKNOWN;
    },
  }),

  set: operation({
    name: 'link.set',
    id: 'changeLink',
    method: 'PATCH',
    path: '/links/:linkId',
    summary: 'Change settings of a link; what is not named stays',
    changes: {
      before: async ({ linkId }, { store }) => {
        const found = await findLink(store, String(linkId));
        return found && { mapping: null, ...viewLink(found, null) };
      },
      told: [
        ...Object.keys(LinkSettings.properties).filter((name) => name !== 'mapping'),
        ...['guard.honeypot', 'guard.minFillSeconds', 'guard.captcha.fail'],
        ...['guard.captcha', 'guard.captcha.verifyUrl', 'guard'],
      ],
    },
    input: Type.Object({ linkId: Uuid, ...changes }),
    output: LinkOutput,
    run: async ({ linkId, ...settings }, connections, call) => {
      if (Object.keys(settings).length === 0) return NOTHING_NAMED;
      const keyring = await keyringFor(settings.guard?.captcha, connections);
      if (keyring instanceof Refusal) return keyring;
      const outcome = await updateLink(connections.store, linkId, settings, keyring);
      if (outcome.kind === 'invalid') return invalid(outcome.errors);
      warnOfCaptcha(settings.guard?.captcha?.verifyUrl, call);
      return changed(outcome.kind === 'updated' ? outcome.link : null, connections, call);
    },
  }),

  prove: operation({
    name: 'link.prove',
    id: 'proveSender',
    method: 'POST',
    path: '/links/:linkId/proof',
    summary: 'Have a link’s sender prove that a body is its own; null: no longer',
    input: Type.Object({ linkId: Uuid, proof: Nullable(LinkProof) }),
    output: LinkOutput,
    run: async ({ linkId, proof }, connections, call) => {
      const keyring = await keyringFor(proof, connections);
      if (keyring instanceof Refusal) return keyring;
      const outcome = await updateLink(connections.store, linkId, { proof }, keyring);
      if (outcome.kind === 'invalid') return invalid(outcome.errors);
      return changed(outcome.kind === 'updated' ? outcome.link : null, connections, call);
    },
  }),

  suggest: operation({
    name: 'link.suggest',
    id: 'suggestMapping',
    method: 'GET',
    path: '/links/:linkId/suggestion',
    summary:
      'Propose a mapping from the last bodies of a link, rather from those of which nothing was recognised',
    input: Type.Object({ linkId: Uuid }),
    output: Type.Object({
      bodies: Type.Integer({ description: 'How many it was made from.' }),
      unrecognised: Type.Integer({ description: 'Of the last 100, those without a known field.' }),
      rules: LinkMapping.properties.rules,
    }),
    run: async ({ linkId }, { store }) => {
      if ((await findLink(store, linkId)) === null) return UNKNOWN;
      const last = await listSubmissions(store, { linkId }, 100);
      const bare = last.filter(({ notes }) =>
        notes.some(({ code }) => code === 'nothing-recognised'),
      );
      const looked = (bare.length > 0 ? bare : last).slice(0, BODIES_LOOKED_AT);
      const sent = await Promise.all(
        looked.map(({ submissionId }) => showSubmission(store, submissionId)),
      );
      const bodies = sent.flatMap((one) => {
        const parsed = one && parseBody(one.body, /^\s*[{[]/.test(one.body) ? 'json' : 'form');
        return parsed?.kind === 'parsed' ? [parsed.value] : [];
      });
      const rules = suggestRules(bodies);
      return { bodies: bodies.length, unrecognised: bare.length, rules };
    },
  }),

  try: operation({
    name: 'link.try',
    id: 'tryMapping',
    method: 'POST',
    path: '/links/:linkId/try',
    summary:
      'Show what a link would read of a body, under its mapping or another; nothing is changed',
    role: 'viewer',
    recorded: false,
    input: Type.Object({
      linkId: Uuid,
      body: Type.String({ maxLength: 65_536, description: 'JSON, or the text of a form.' }),
      mapping: Type.Optional(Nullable(LinkMapping)),
    }),
    output: Type.Object({
      ...TriedBody.properties,
      others: Type.Array(TriedBody, {
        description: 'The further rows, if the mapping finds a list of leads in the body.',
      }),
    }),
    run: async ({ linkId, body, mapping: asked }, { store }) => {
      const [entry] = await linkEntries(store, linkId);
      if (entry === undefined) return UNKNOWN;
      const mapping = asked === undefined ? (entry.link.mapping ?? null) : asked;
      const faults = mapping === null ? [] : mappingFaults(mapping);
      if (faults.length > 0) return invalid(faults);
      const parsed = parseBody(body, /^\s*[{[]/.test(body) ? 'json' : 'form');
      if (parsed.kind !== 'parsed') return notABody(parsed.kind);
      const { mapping: _, ...unmapped } = entry.link;
      const rules = refusingNothing({ ...unmapped, ...(mapping !== null && { mapping }) });
      const [first, ...others] = rowsIn(parsed.value, rules).map((row) => {
        const reading = readSent(row, rules, { now: Date.now() });
        if (reading.kind === 'refused') return notABody(reading.code);
        const { lead, notes, identities } = reading;
        return { lead, notes, externalId: externalIdOf(identities, linkId) };
      });
      if (first === undefined || first instanceof Refusal) return first ?? notABody('empty-body');
      return { ...first, others: others.flatMap((one) => (one instanceof Refusal ? [] : [one])) };
    },
  }),

  disable: setState(
    'disable',
    'disabled',
    'Close a link until it is enabled: posts are answered 410',
  ),
  enable: setState('enable', 'open', 'Open a disabled link again'),

  rotate: operation({
    name: 'link.rotate',
    id: 'rotateLink',
    method: 'POST',
    path: '/links/:linkId/rotate',
    summary: 'Give a link a new code; the old one works on for the overlap',
    subject: ['overlapSeconds'],
    input: Type.Object({
      linkId: Uuid,
      overlapSeconds: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 31_536_000, description: 'A week by default.' }),
      ),
    }),
    output: LinkOutput,
    run: async ({ linkId, overlapSeconds = WEEK_SECONDS }, connections, call) => {
      const outcome = await rotateLink(connections.store, linkId, overlapSeconds);
      if (outcome.kind === 'expired')
        return new Refusal('conflict', 'The link is expired: give it an end first.');
      return changed(outcome.kind === 'rotated' ? outcome.link : null, connections, call);
    },
  }),

  expire: operation({
    name: 'link.expire',
    id: 'expireLink',
    method: 'POST',
    path: '/links/:linkId/expire',
    summary: 'End a link at a time, at once, or never',
    subject: ['at'],
    input: Type.Object({
      linkId: Uuid,
      at: Type.Union([Time, Type.Literal('now'), Type.Null()]),
    }),
    output: LinkOutput,
    run: async ({ linkId, at }, connections, call) => {
      const end = at === 'now' ? at : dateOf(at);
      const past = end === 'now' ? null : pastEnd('/at', end);
      return past ?? changed(await expireLink(connections.store, linkId, end), connections, call);
    },
  }),

  presets: operation({
    name: 'link.presets',
    id: 'listPresets',
    method: 'GET',
    path: '/presets',
    summary: 'The mappings of senders that are known',
    scope: 'own',
    input: Type.Object({}),
    output: Type.Array(Type.Object({ preset: Type.String(), mapping: LinkMapping })),
    run: () => PRESET_NAMES.map((preset) => ({ preset, mapping: presetMapping(preset) })),
  }),

  activity: operation({
    name: 'link.activity',
    id: 'linkActivity',
    method: 'GET',
    path: '/links/activity',
    summary: 'What was posted to each link of a workspace of late, and how much of it was refused',
    scope: 'workspaceId',
    input: Type.Object({ workspaceId: Uuid }),
    output: Type.Array(
      Type.Object({
        linkId: Uuid,
        days: Type.Array(Type.Integer(), {
          description: 'Posts of the last 14 days, today the last, by the zone of the workspace.',
        }),
        posts: Type.Integer({ description: 'Of the last seven days.' }),
        refused: Type.Integer({ description: 'Of them.' }),
        lastAt: Nullable(At),
      }),
    ),
    run: ({ workspaceId }, { store }) => linkActivity(store, workspaceId),
  }),

  test: operation({
    name: 'link.test',
    id: 'testLink',
    method: 'POST',
    path: '/links/:linkId/test-post',
    summary: 'Take a body as if a sender had posted it to the link, and say which lead comes of it',
    description:
      'Read, reserved and enqueued as any post is: it becomes a lead. Origins, spam guard and limits of the link do not count for it.',
    input: Type.Object({
      linkId: Uuid,
      body: Type.String({ maxLength: 65_536, description: 'JSON, or the text of a form.' }),
    }),
    output: Type.Object({ submissionId: Uuid, leadId: Uuid }),
    run: async ({ linkId, body }, { store, intake }) => {
      const [entry] = await linkEntries(store, linkId);
      if (entry === undefined) return UNKNOWN;
      const bodyType = /^\s*[{[]/.test(body) ? 'json' : 'form';
      const parsed = parseBody(body, bodyType);
      if (parsed.kind !== 'parsed') return notABody(parsed.kind);
      const { link } = entry;
      const isForm = bodyType === 'form';
      const [row, ...others] = rowsIn(parsed.value, link);
      if (others.length > 0) return notABody('several-leads');
      const reading = readSent(row, link, { lenient: false, now: Date.now(), isForm });
      if (reading.kind === 'refused')
        return reading.errors.length > 0 ? invalid(reading.errors) : notABody(reading.code);
      const submissionId = uuidv7();
      const { acceptBody } = await import('./accept.ts');
      const accepted = await acceptBody(await intake(), {
        ...{ submissionId, link, reading, body, bodyType, source: 'post' },
        ...{ stamp: null, background: false },
      });
      if (accepted.kind !== 'accepted') return refilling();
      return { submissionId, leadId: accepted.leadId };
    },
  }),
};

/** Receivers call no address that an operator typed, but for those of known services. */
function warnOfCaptcha(verifyUrl: string | undefined, { warn }: Pick<Call, 'warn'>): void {
  if (verifyUrl !== undefined && !CAPTCHA_URLS.includes(verifyUrl))
    warn('receivers ask this CAPTCHA only if their CAPTCHA_URLS names its verify URL', null);
}
