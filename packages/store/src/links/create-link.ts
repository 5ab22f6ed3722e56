import type { FieldError } from '@leadgate/contract';
import { randomUUID } from 'node:crypto';
import type { Store } from '../open-store.ts';
import { captureCode } from './capture-code.ts';
import { checkLinkSettings } from './check-link-settings.ts';
import type { Link, LinkSettings } from './link.ts';
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
  input: LinkSettings & { expiresAt: Date | null },
): Promise<LinkCreation> {
  const { expiresAt, ...settings } = input;
  const checked = checkLinkSettings(settings);
  if (checked.kind === 'invalid') return checked;
  if ((await store.prisma.workspace.count({ where: { id: workspaceId } })) === 0)
    return { kind: 'unknown-workspace' };
  const row = await store.prisma.captureLink.create({
    data: {
      id: randomUUID(),
      workspaceId,
      ...checked.settings,
      codes: { create: { code: captureCode(), expiresAt } },
    },
    include: linkParts,
  });
  return { kind: 'created', link: readLink(row) };
}
