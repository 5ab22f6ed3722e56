import type { Prisma } from '../generated/client.ts';
import type { Link } from './link.ts';

/** What to load with a link's row. */
export const linkParts = {
  workspace: { select: { name: true } },
  codes: { orderBy: [{ createdAt: 'desc' }, { code: 'asc' }] },
} satisfies Prisma.CaptureLinkInclude;

type LinkRow = Prisma.CaptureLinkGetPayload<{ include: typeof linkParts }>;

/** A link from its row and those that belong to it. */
export function readLink(row: LinkRow): Link {
  const { workspace, codes, state, mode, ...rest } = row;
  return {
    ...rest,
    // The table's checks allow these only.
    state: state as Link['state'],
    mode: mode as Link['mode'],
    workspaceName: workspace.name,
    codes: codes.map(({ code, expiresAt, createdAt }) => ({ code, expiresAt, createdAt })),
  };
}
