import type { Keyring } from '@leadgate/boot';
import {
  type FieldError,
  type LinkGuardChanges,
  type LinkGuardView,
  type LinkProof,
  type LinkProofView,
  LinkSettings,
} from '@leadgate/contract';
import { randomBytes, randomUUID } from 'node:crypto';
import { Prisma } from './generated/client.ts';
import {
  checkLinkGuard,
  checkLinkProof,
  checkLinkSettings,
  guardColumns,
} from './link-settings.ts';
import type { Store } from './open-store.ts';
import { isUuid } from './text.ts';

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

export interface LinkCode {
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

export type LinkCreation =
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

export type LinkRotation =
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

/** A link from its row and those that belong to it. */
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
