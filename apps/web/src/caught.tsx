import { Text } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useTranslations } from 'use-intl';
import { Link } from 'wouter';
import { api } from './api.ts';
import { CAUSE_ICONS } from './inbox-data.ts';
import { useLinks } from './lead-filters.tsx';
import { useCauseText, useCode } from './parts/code.ts';
import { Icon } from './parts/icon.tsx';
import { Failure, Waiting } from './parts/standing.tsx';
import { nameOf } from './parts/text.ts';
import { Time } from './parts/time.tsx';
import { Hint } from './parts/styled.tsx';
import type { Workspace } from './session.tsx';

/** Refused and held posts that hold a text: where a lead is that is not among the leads. */
export function Caught({ workspace, q }: { workspace: Workspace; q: string }) {
  const t = useTranslations('inbox');
  const text = useCauseText();
  const heldText = useCode(({ held }) => held);
  const links = useLinks(workspace.id);
  const { data, error } = useQuery({
    queryKey: ['/api/rejected', 'found', workspace.id, q],
    queryFn: () =>
      api.post('/api/workspaces/{workspaceId}/search-refused', {
        path: { workspaceId: workspace.id },
        body: { q, limit: 20 },
      }),
    placeholderData: keepPreviousData,
  });
  if (error !== null) return <Failure error={error} />;
  if (data === undefined) return <Waiting />;
  const linkOf = (id: string) => links.data?.find((one) => one.id === id)?.label || id.slice(0, 8);
  const rows = [
    ...data.rejected.map((one) => ({
      ...{ key: one.rejectedId, icon: CAUSE_ICONS.refused, at: one.at, linkId: one.linkId },
      ...{ title: text(one), href: `/inbox/refused?post=${one.rejectedId}` },
      state: one.submissionId === null ? t('kind.refused') : t('mended'),
    })),
    ...data.held.map((one) => ({
      ...{ key: one.heldId, icon: CAUSE_ICONS.held, at: one.at, linkId: one.linkId },
      title: `${nameOf({ leadId: one.heldId, ...one.lead })}: ${heldText(one.reason)}`,
      href: `/inbox/held?post=${one.heldId}&state=${one.state}`,
      state: t(`state.${one.state}`),
    })),
  ];
  if (rows.length === 0) return <Text size="sm">{t('noneFound', { q })}</Text>;
  return (
    <section aria-label={t('found')}>
      <Hint mb={6}>{t('found')}</Hint>
      <ul className="plain rows inset">
        {rows.map(({ key, icon, title, href, at, linkId, state }) => (
          <li key={key}>
            <Icon name={icon} />
            <span className="grow">
              <Link href={href} className="row">
                {title}
              </Link>
              <span className="soft">
                {state} · {linkOf(linkId)}
              </span>
            </span>
            <Time at={at} near soft />
          </li>
        ))}
      </ul>
    </section>
  );
}
