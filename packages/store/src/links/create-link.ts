import type { FieldError, LinkSettings } from '@leadgate/contract';
import { randomUUID } from 'node:crypto';
import type { Store } from '../open-store.ts';
import { captureCode } from './capture-code.ts';
import { checkLinkSettings } from './check-link-settings.ts';
import { checkLinkGuard } from './check-link-guard.ts';
import { guardColumns } from './guard-columns.ts';
import type { Link, LinkGuardSettings } from './link.ts';
import { linkParts, readLink } from './read-link.ts';

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
      ...checked.settings,
      ...guardColumns(guard),
      codes: { create: { code: captureCode(), expiresAt } },
    },
    include: linkParts,
  });
  return { kind: 'created', link: readLink(row) };
}

const NO_GUARD: LinkGuardSettings = { honeypot: null, minFillSeconds: null, captcha: null };
