import { Badge, Button } from '@mantine/core';
import { useTranslations } from 'use-intl';
import { Link, useLocation } from 'wouter';
import { useLinks } from '../lead-filters.tsx';
import { useListKeys } from '../list-keys.ts';
import { Copy } from '../parts/copy.tsx';
import { Icon } from '../parts/icon.tsx';
import { Failure, Nothing, Waiting } from '../parts/standing.tsx';
import { Time } from '../parts/time.tsx';
import { useSession, type Workspace } from '../session.tsx';
import { PageHead } from '../shell.tsx';

export default function LinksPage() {
  const t = useTranslations('links');
  const leads = useTranslations('leads');
  const { workspace, may } = useSession();
  if (workspace === null) return <Nothing icon="links" title={leads('noWorkspace')} />;
  return (
    <>
      <PageHead title={t('title')}>
        {may('operator', workspace.id) && (
          <Button component={Link} href="/links/new" leftSection={<Icon name="plus" size={14} />}>
            {t('new')}
          </Button>
        )}
      </PageHead>
      <List workspace={workspace} />
    </>
  );
}

/** The state of a link, in its colour. */
export function LinkState({ status }: { status: string }) {
  const t = useTranslations('links');
  const known = (['open', 'disabled', 'expired'] as const).find((one) => one === status);
  return (
    <Badge color={status === 'open' ? 'pine' : 'gray'}>
      {known === undefined ? status : t(`status.${known}`)}
    </Badge>
  );
}

function List({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('links');
  const links = useLinks(workspace.id);
  const [, go] = useLocation();
  const rows = links.data ?? [];
  const at = useListKeys(
    rows.length,
    (index) => document.querySelectorAll<HTMLElement>('a.row')[index]?.focus(),
    [['enter', (index) => rows[index] !== undefined && go(`/links/${rows[index].id}`)]],
  );
  if (links.error !== null)
    return (
      <div className="page-body">
        <Failure error={links.error} again={() => void links.refetch()} />
      </div>
    );
  if (links.isPending) return <Waiting />;
  if (rows.length === 0)
    return (
      <Nothing icon="links" title={t('none')}>
        {t('noneHint')}
      </Nothing>
    );
  return (
    <table className="list">
      <thead>
        <tr>
          <th scope="col">{t('label')}</th>
          <th scope="col" data-keep>
            {t('state')}
          </th>
          <th scope="col">{t('url')}</th>
          <th scope="col">{t('spam')}</th>
          <th scope="col">{t('since')}</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((link, index) => (
          <tr key={link.id} data-at={index === at ? '' : undefined}>
            <td>
              <Link href={`/links/${link.id}`} className="row">
                {link.label || link.id.slice(0, 8)}
              </Link>
              <span className="under">{link.captureUrl ?? link.code}</span>
            </td>
            <td data-keep>
              <LinkState status={link.status} />
            </td>
            <td>
              <span className="fact">
                <code className="ellipsis">{link.captureUrl ?? link.code}</code>
                <Copy text={link.captureUrl ?? link.code} />
              </span>
            </td>
            <td>
              {[
                link.guard.honeypot !== null && t('honeypot'),
                link.guard.minFillSeconds !== null && t('minFill'),
                link.guard.captcha !== null && 'CAPTCHA',
              ]
                .filter(Boolean)
                .join(', ') || <span className="soft">–</span>}
            </td>
            <td>
              <Time at={link.createdAt} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
