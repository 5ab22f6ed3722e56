import type { Keyring } from '@leadgate/boot';
import {
  ADDRESS_FIELDS,
  CLICK_IDS,
  type FieldError,
  LEAD_FIELDS,
  type LinkGuardChanges,
  type LinkGuardView,
  type LinkProof,
  type LinkProofView,
  LinkSettings,
  UTM_FIELDS,
} from '@leadgate/contract';
import { mappingFaults } from '@leadgate/leads';
import { randomBytes, randomUUID } from 'node:crypto';
import { Prisma } from './generated/client.ts';
import type { Store } from './open-store.ts';
import { displayText, displayTextFault, isUuid } from './statements.ts';

/** What a link holds posts back by: they are kept as held, and answered like any other. */
export interface LinkGuardSettings extends Omit<LinkGuardView, 'captcha'> {
  /** Its secret goes to receivers, and is never shown again. */
  captcha: (NonNullable<LinkGuardView['captcha']> & { secret: string }) | null;
}

/** A capture link as operators see it. */
export interface Link extends LinkSettings {
  id: string;
  workspaceId: string;
  workspaceName: string;
  state: 'open' | 'disabled';
  guard: LinkGuardView;
  /** How its sender proves to be it; null: anyone may send. */
  proof: LinkProofView | null;
  createdAt: Date;
  /** Newest first: the current one, then those that a rotation replaced. Never empty. */
  codes: LinkCode[];
}

interface LinkCode {
  code: string;
  /** The code is closed from then on. Null: never. */
  expiresAt: Date | null;
  createdAt: Date;
}

/** The link of a code, old and expired ones included, or of an id. Null if there is none. */
export async function findLink(store: Store, codeOrId: string): Promise<Link | null> {
  const row = await store.prisma.captureLink.findFirst({
    where: isUuid(codeOrId) ? { id: codeOrId } : { codes: { some: { code: codeOrId } } },
    include: linkParts,
  });
  return row === null ? null : readLink(row);
}

/** The links of a workspace, or of all, closed ones included, oldest first. */
export async function listLinks(store: Store, workspaceId?: string): Promise<Link[]> {
  const rows = await store.prisma.captureLink.findMany({
    ...(workspaceId !== undefined && { where: { workspaceId } }),
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    include: linkParts,
  });
  return rows.map(readLink);
}

type LinkCreation =
  | { kind: 'created'; link: Link }
  | { kind: 'unknown-workspace' }
  | { kind: 'invalid'; errors: FieldError[] };

/**
 * Creates an open link with one code. Its entry in Redis is the caller's to put (`putLinks` of
 * intake); the worker carries it over where the caller could not.
 */
export async function createLink(
  store: Store,
  workspaceId: string,
  input: LinkSettings & { expiresAt: Date | null; guard?: LinkGuardSettings },
  keyring: Keyring | null = null,
): Promise<LinkCreation> {
  const { expiresAt, guard = NO_GUARD, ...settings } = input;
  const checked = checkLinkSettings(settings);
  const errors = [...(checked.kind === 'invalid' ? checked.errors : []), ...checkLinkGuard(guard)];
  if (checked.kind === 'invalid' || errors.length > 0) return { kind: 'invalid', errors };
  if ((await store.prisma.workspace.count({ where: { id: workspaceId } })) === 0)
    return { kind: 'unknown-workspace' };
  const row = await store.prisma.captureLink.create({
    data: {
      id: randomUUID(),
      workspaceId,
      ...columnsOf(checked.settings),
      ...guardColumns({ ...guard, captcha: guard.captcha && sealed(guard.captcha, keyring) }),
      codes: { create: { code: captureCode(), expiresAt } },
    },
    include: linkParts,
  });
  return { kind: 'created', link: readLink(row) };
}

/** Throws if there is a secret, and no key. */
function sealed<T extends { secret: string }>(holder: T, keyring: Keyring | null): T {
  if (keyring === null) throw new TypeError('a secret is not stored without a key');
  return { ...holder, secret: keyring.sealText(holder.secret) };
}

const NO_GUARD: LinkGuardSettings = { honeypot: null, minFillSeconds: null, captcha: null };

/** What is to change; what is left out stays. */
type LinkChanges = Partial<LinkSettings> & {
  guard?: LinkGuardChanges;
  /** Its secret is never shown again. */
  proof?: LinkProof | null;
};

type LinkUpdate =
  | { kind: 'updated'; link: Link }
  | { kind: 'unknown-link' }
  | { kind: 'invalid'; errors: FieldError[] };

/**
 * Changes settings of a link. Its entry in Redis is the caller's to put, as with `createLink`. `keyring`: null if
 * no secret is named.
 */
export async function updateLink(
  store: Store,
  linkId: string,
  { guard = {}, proof, ...changes }: LinkChanges,
  keyring: Keyring | null = null,
): Promise<LinkUpdate> {
  const outcome = await store.prisma.$transaction(async (tx): Promise<LinkUpdate | null> => {
    // Locked: two changes at once are checked one after the other.
    await tx.$queryRaw`SELECT 1 FROM capture_link WHERE id = ${linkId}::uuid FOR UPDATE`;
    const row = await tx.captureLink.findUnique({ where: { id: linkId } });
    if (row === null) return { kind: 'unknown-link' };
    const { captcha: asked, ...simple } = guard;
    // The secret that is kept goes to the address it was given for, and to no other.
    const isSame = asked?.verifyUrl === undefined || asked.verifyUrl === row.captchaUrl;
    const kept = isSame ? row.captchaSecret : null;
    const captcha =
      asked === undefined || asked === null
        ? asked
        : {
            verifyUrl: asked.verifyUrl ?? row.captchaUrl ?? '',
            secret: asked.secret ?? (kept === null ? '' : 'kept'),
            fail:
              asked.fail ??
              (row.captchaFail === 'closed' ? ('closed' as const) : ('open' as const)),
          };
    const checked = checkLinkSettings({ ...settingsOf(row), ...changes });
    const errors = [
      ...(checked.kind === 'invalid' ? checked.errors : []),
      ...checkLinkProof(proof ?? null),
      ...checkLinkGuard({
        honeypot: guard.honeypot ?? null,
        minFillSeconds: guard.minFillSeconds ?? null,
        captcha: captcha ?? null,
      }),
    ];
    if (checked.kind === 'invalid' || errors.length > 0) return { kind: 'invalid', errors };
    const stored =
      captcha && asked?.secret === undefined
        ? { ...captcha, secret: kept ?? '' }
        : captcha && sealed(captcha, keyring);
    await tx.captureLink.update({
      where: { id: linkId },
      data: {
        ...columnsOf(checked.settings),
        ...(proof !== undefined && { proof: proof ? sealed(proof, keyring) : Prisma.DbNull }),
        ...guardColumns({ ...simple, ...(stored !== undefined && { captcha: stored }) }),
      },
    });
    return null;
  });
  if (outcome !== null) return outcome;
  const link = await findLink(store, linkId);
  return link === null ? { kind: 'unknown-link' } : { kind: 'updated', link };
}

/** Opens or disables a link. Null if there is no such link. */
export async function setLinkState(
  store: Store,
  linkId: string,
  state: Link['state'],
): Promise<Link | null> {
  await store.prisma.captureLink.updateMany({
    where: { id: linkId, state: { not: state } },
    data: { state },
  });
  return findLink(store, linkId);
}

/**
 * Ends a link at a time, at once (`'now'`), or takes its end away (null). Codes that a rotation
 * replaced never live longer by it. Null if there is no such link.
 */
export async function expireLink(
  store: Store,
  linkId: string,
  at: Date | 'now' | null,
): Promise<Link | null> {
  const end = at === 'now' ? null : at;
  await store.prisma.$executeRaw`
    WITH asked AS (
      SELECT CASE WHEN ${at === 'now'} THEN now() ELSE ${end}::timestamptz END AS end_at
    ), current AS (
      SELECT code FROM capture_code WHERE link_id = ${linkId}::uuid
      ORDER BY created_at DESC, code LIMIT 1
    )
    UPDATE capture_code k
    SET expires_at = CASE WHEN k.code = current.code THEN asked.end_at
                          ELSE least(k.expires_at, asked.end_at) END
    FROM asked, current WHERE k.link_id = ${linkId}::uuid`;
  return findLink(store, linkId);
}

type LinkRotation =
  { kind: 'rotated'; link: Link } | { kind: 'expired'; link: Link } | { kind: 'unknown-link' };

/**
 * Gives a link a new code at once. Its other codes end after the overlap, or earlier where they
 * already had an end; the new code ends when the link was to end. An expired link is not rotated.
 */
export async function rotateLink(
  store: Store,
  linkId: string,
  overlapSeconds: number,
): Promise<LinkRotation> {
  const kind = await store.prisma.$transaction(async (tx) => {
    // Two rotations at once would each leave the other's code without an end.
    await tx.$queryRaw`SELECT 1 FROM capture_link WHERE id = ${linkId}::uuid FOR NO KEY UPDATE`;
    const [current] = await tx.$queryRaw<{ expired: boolean }[]>`
      SELECT coalesce(expires_at <= now(), false) AS expired FROM capture_code
      WHERE link_id = ${linkId}::uuid ORDER BY created_at DESC, code LIMIT 1`;
    if (current === undefined) return 'unknown-link' as const;
    if (current.expired) return 'expired' as const;
    const code = captureCode();
    // The newest code is the current one: never let a clock that stepped back say otherwise.
    await tx.$executeRaw`
      INSERT INTO capture_code (code, link_id, expires_at, created_at)
      SELECT ${code}, link_id, expires_at, greatest(now(), created_at + interval '1 microsecond')
      FROM capture_code WHERE link_id = ${linkId}::uuid ORDER BY created_at DESC, code LIMIT 1`;
    await tx.$executeRaw`
      UPDATE capture_code
      SET expires_at = least(expires_at, now() + make_interval(secs => ${overlapSeconds}::float8))
      WHERE link_id = ${linkId}::uuid AND code <> ${code}`;
    return 'rotated' as const;
  });
  const link = await findLink(store, linkId);
  return kind === 'unknown-link' || link === null ? { kind: 'unknown-link' } : { kind, link };
}

/**
 * A new code: 22 URL-safe characters, 132 random bits less the few that choose the ends. It never
 * begins with `-`, which a command line takes for an option, nor ends with `-` or `_`, which chat
 * programs leave out of a link.
 */
export function captureCode(): string {
  for (;;) {
    const code = randomBytes(17).toString('base64url').slice(0, 22);
    if (/^[^-].*[^-_]$/.test(code)) return code;
  }
}

/** What to load with a link's row. */
const linkParts = {
  workspace: { select: { name: true } },
  codes: { orderBy: [{ createdAt: 'desc' }, { code: 'asc' }] },
} satisfies Prisma.CaptureLinkInclude;

type LinkRow = Prisma.CaptureLinkGetPayload<{ include: typeof linkParts }>;

function readLink(row: LinkRow): Link {
  const { minFillMs, captchaUrl } = row;
  // Field by field: secrets stay behind. They go to receivers, and to nobody else.
  return {
    id: row.id,
    workspaceId: row.workspaceId,
    workspaceName: row.workspace.name,
    ...settingsOf(row),
    // The table's checks allow these only.
    state: row.state as Link['state'],
    guard: {
      honeypot: row.honeypot,
      minFillSeconds: minFillMs === null ? null : minFillMs / 1_000,
      captcha:
        captchaUrl === null
          ? null
          : { verifyUrl: captchaUrl, fail: row.captchaFail === 'closed' ? 'closed' : 'open' },
    },
    proof: (row.proof as LinkProof | null)?.by ?? null,
    createdAt: row.createdAt,
    codes: row.codes.map(({ code, expiresAt, createdAt }) => ({ code, expiresAt, createdAt })),
  };
}

/** The columns of settings. JSON's null is a value of its own in Prisma. */
function columnsOf({ mapping, ...settings }: LinkSettings) {
  return { ...settings, mapping: mapping ?? Prisma.DbNull };
}

/** The settings of a link, which are the columns of their names. */
function settingsOf(row: Omit<LinkRow, 'workspace' | 'codes'>): LinkSettings {
  const names = new Set(Object.keys(LinkSettings.properties));
  const settings = Object.entries(row).filter(([name]) => names.has(name));
  // The table's checks allow nothing else.
  return Object.fromEntries(settings) as LinkSettings;
}

// Postgres' integer.
const MAX_LIMIT = 2_147_483_647;

type CheckedLinkSettings =
  { kind: 'valid'; settings: LinkSettings } | { kind: 'invalid'; errors: FieldError[] };

/**
 * The settings of a link as they are stored: origins as browsers send them (lower case, no default
 * port), each once. Or every setting that is wrong. Pure.
 */
export function checkLinkSettings(input: LinkSettings): CheckedLinkSettings {
  const label = displayText(input.label);
  const errors: FieldError[] = [];
  const refuse = (pointer: string, detail: string) => {
    errors.push({ pointer, code: 'invalid', detail });
  };
  const labelFault = label === '' ? null : displayTextFault(label);
  if (labelFault !== null) refuse('/label', `The label ${labelFault}.`);
  const origins = input.origins.map((text, at) => {
    const origin = readOrigin(text);
    if (origin === null)
      refuse(
        `/origins/${at}`,
        `Origin ${at + 1} is not scheme://host[:port] and nothing after it, such as ${exampleFor(text)}.`,
      );
    return origin ?? '';
  });
  const redirectUrl = input.redirectUrl === null ? null : readRedirectUrl(input.redirectUrl);
  if (input.redirectUrl !== null && redirectUrl === null)
    refuse(
      '/redirectUrl',
      'The redirect URL is not an absolute http or https address, such as https://example.com/thanks.',
    );
  for (const field of ['linkLimit', 'addressLimit'] as const)
    if (!isLimit(input[field]))
      refuse(
        `/${field}`,
        `The ${field === 'linkLimit' ? 'link' : 'address'} limit is not a whole number of requests a minute, at least 1.`,
      );
  if (input.mapping != null) errors.push(...mappingFaults(input.mapping));
  if (errors.length > 0) return { kind: 'invalid', errors };
  return {
    kind: 'valid',
    settings: { ...input, label, origins: [...new Set(origins)], redirectUrl },
  };
}

/** An origin as a browser sends it (RFC 6454), or null. */
function readOrigin(text: string): string | null {
  const trimmed = text.trim();
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^/?#@\s*]+$/i.test(trimmed) || !URL.canParse(trimmed)) return null;
  const url = new URL(trimmed);
  // For schemes it does not know (an app's own), URL has no origin but leaves the host as written.
  return url.origin === 'null' ? `${url.protocol}//${url.host.toLowerCase()}` : url.origin;
}

/** The origin that was probably meant. */
function exampleFor(text: string): string {
  const address = text.includes('://') ? text : `https://${text}`;
  const url = URL.canParse(address) ? new URL(address) : null;
  const isPlain = url !== null && /^https?:$/.test(url.protocol) && /^[\w.-]+$/.test(url.hostname);
  return isPlain ? url.origin : 'https://example.com';
}

function readRedirectUrl(text: string): string | null {
  const trimmed = text.trim();
  if (!URL.canParse(trimmed)) return null;
  const url = new URL(trimmed);
  return url.protocol === 'https:' || url.protocol === 'http:' ? url.href : null;
}

function isLimit(value: number | null): boolean {
  return value === null || (Number.isInteger(value) && value >= 1 && value <= MAX_LIMIT);
}

/** A lead's own fields, and what the snippet never sends: a trap there would catch people, or nobody. */
const TAKEN = new Set<string>([
  ...LEAD_FIELDS,
  ...ADDRESS_FIELDS,
  ...UTM_FIELDS,
  ...CLICK_IDS,
  ...['address', 'attribution', 'consent', 'customFields'],
]);
const NEVER_SENT = /^_|[cx]srf|token|passw|senha|captcha|turnstile/i;

/** Longer, and the form is a trap for who has it filled in by the browser. */
const LONGEST_FILL_SECONDS = 60;

/** Everything that is wrong with the guard of a link. Pure. */
export function checkLinkGuard(guard: LinkGuardSettings): FieldError[] {
  const errors: FieldError[] = [];
  const refuse = (field: string, detail: string) => {
    errors.push({ pointer: `/guard/${field}`, code: 'invalid', detail });
  };
  const { honeypot, minFillSeconds, captcha } = guard;
  if (honeypot !== null && !/^[A-Za-z][\w-]{0,63}$/.test(honeypot))
    refuse(
      'honeypot',
      'The honeypot is a field’s name of letters, digits, - and _, such as website.',
    );
  else if (honeypot !== null && (TAKEN.has(honeypot) || NEVER_SENT.test(honeypot)))
    refuse(
      'honeypot',
      `The honeypot cannot be ${honeypot}: people fill it in, or the snippet never sends it.`,
    );
  if (minFillSeconds !== null && !(minFillSeconds > 0 && minFillSeconds <= LONGEST_FILL_SECONDS))
    refuse(
      'minFillSeconds',
      `The minimum fill time is above 0 and at most ${LONGEST_FILL_SECONDS} seconds.`,
    );
  if (captcha !== null) {
    if (!isVerifyUrl(captcha.verifyUrl))
      refuse(
        'captcha/verifyUrl',
        'The verify URL is an https address, such as https://challenges.cloudflare.com/turnstile/v0/siteverify.',
      );
    if (captcha.secret === '' || /[^\x21-\x7e]/.test(captcha.secret) || captcha.secret.length > 512)
      refuse(
        'captcha/secret',
        'The CAPTCHA’s secret is 1 to 512 printable characters without spaces; another verify URL needs its own.',
      );
  }
  return errors;
}

/** Everything that is wrong with the proof that a link asks for. Pure. */
function checkLinkProof(proof: LinkProof | null): FieldError[] {
  if (proof === null) return [];
  const { by, secret } = proof;
  const isText = /^[\x20-\x7e]{1,512}$/.test(secret);
  const isKey =
    by.way !== 'standard-webhooks' || /^(whsec_)?[A-Za-z0-9+/]{16,}={0,2}$/.test(secret);
  if (isText && isKey) return [];
  const detail = isText
    ? 'The secret of Standard Webhooks is base64, with or without whsec_ before it.'
    : 'The secret is 1 to 512 printable ASCII characters.';
  return [{ pointer: '/proof/secret', code: 'invalid', detail }];
}

/** https to a name, without credentials in it: no address, which may lead inside. */
function isVerifyUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  const isName = /\.[a-z][a-z0-9-]*\.?$/.test(hostname);
  return protocol === 'https:' && isName && username === '' && password === '';
}

/** A guard as a new link has it: what is not asked for is not there, and is found missing. */
export function wholeGuard(asked: LinkGuardChanges = {}): LinkGuardSettings {
  const { honeypot = null, minFillSeconds = null, captcha } = asked;
  return {
    honeypot,
    minFillSeconds,
    captcha: captcha == null ? null : { verifyUrl: '', secret: '', fail: 'open', ...captcha },
  };
}

/** The columns of a guard; of what is left out, none. */
function guardColumns({ honeypot, minFillSeconds, captcha }: Partial<LinkGuardSettings>) {
  return {
    ...(honeypot !== undefined && { honeypot }),
    ...(minFillSeconds !== undefined && {
      minFillMs: minFillSeconds === null ? null : Math.round(minFillSeconds * 1_000),
    }),
    ...(captcha !== undefined && {
      captchaUrl: captcha?.verifyUrl ?? null,
      captchaSecret: captcha?.secret ?? null,
      captchaFail: captcha?.fail ?? 'open',
    }),
  };
}
