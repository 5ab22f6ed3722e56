import { LinkSettings } from '@leadgate/contract';
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
  const { minFillMs, captchaUrl } = row;
  // Field by field: the CAPTCHA's secret stays behind. It goes to receivers, and to nobody else.
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
    createdAt: row.createdAt,
    codes: row.codes.map(({ code, expiresAt, createdAt }) => ({ code, expiresAt, createdAt })),
  };
}

/** The settings of a link, which are the columns of their names. */
export function settingsOf(row: Omit<LinkRow, 'workspace' | 'codes'>): LinkSettings {
  const names = new Set(Object.keys(LinkSettings.properties));
  const settings = Object.entries(row).filter(([name]) => names.has(name));
  // The table's checks allow nothing else.
  return Object.fromEntries(settings) as LinkSettings;
}
