import type { FieldError, LinkGuardChanges, LinkSettings } from '@leadgate/contract';
import type { Store } from '../open-store.ts';
import { checkLinkGuard } from './check-link-guard.ts';
import { checkLinkSettings } from './check-link-settings.ts';
import { findLink } from './find-link.ts';
import { guardColumns } from './guard-columns.ts';
import type { Link } from './link.ts';
import { settingsOf } from './read-link.ts';

/** What is to change; what is left out stays. */
export type LinkChanges = Partial<LinkSettings> & { guard?: LinkGuardChanges };

export type LinkUpdate =
  | { kind: 'updated'; link: Link }
  | { kind: 'unknown-link' }
  | { kind: 'invalid'; errors: FieldError[] };

/** Changes settings of a link. Its entry in Redis is the caller's to put, as with `createLink`. */
export async function updateLink(
  store: Store,
  linkId: string,
  { guard = {}, ...changes }: LinkChanges,
): Promise<LinkUpdate> {
  const outcome = await store.prisma.$transaction(async (tx): Promise<LinkUpdate | null> => {
    // Locked: two changes at once are checked one after the other.
    await tx.$queryRaw`SELECT 1 FROM capture_link WHERE id = ${linkId}::uuid FOR UPDATE`;
    const row = await tx.captureLink.findUnique({ where: { id: linkId } });
    if (row === null) return { kind: 'unknown-link' };
    const { captcha: asked, ...simple } = guard;
    const isKept = (url: string | undefined) => url === undefined || url === row.captchaUrl;
    const captcha =
      asked === undefined || asked === null
        ? asked
        : {
            verifyUrl: asked.verifyUrl ?? row.captchaUrl ?? '',
            // The secret that is kept goes to the address it was given for, and to no other.
            secret: asked.secret ?? (isKept(asked.verifyUrl) ? (row.captchaSecret ?? '') : ''),
            fail:
              asked.fail ??
              (row.captchaFail === 'closed' ? ('closed' as const) : ('open' as const)),
          };
    const checked = checkLinkSettings({ ...settingsOf(row), ...changes });
    const errors = [
      ...(checked.kind === 'invalid' ? checked.errors : []),
      ...checkLinkGuard({
        honeypot: guard.honeypot ?? null,
        minFillSeconds: guard.minFillSeconds ?? null,
        captcha: captcha ?? null,
      }),
    ];
    if (checked.kind === 'invalid' || errors.length > 0) return { kind: 'invalid', errors };
    await tx.captureLink.update({
      where: { id: linkId },
      data: {
        ...checked.settings,
        ...guardColumns({ ...simple, ...(captcha !== undefined && { captcha }) }),
      },
    });
    return null;
  });
  if (outcome !== null) return outcome;
  const link = await findLink(store, linkId);
  return link === null ? { kind: 'unknown-link' } : { kind: 'updated', link };
}
