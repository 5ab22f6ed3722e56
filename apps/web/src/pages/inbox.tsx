import { Skeleton, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useState } from 'react';
import { useFormatter, useTranslations } from 'use-intl';
import { Link, useLocation, useSearchParams } from 'wouter';
import { Caught } from '../caught.tsx';
import { type Cause, CAUSE_ICONS, useInbox } from '../inbox-data.ts';
import { useListKeys } from '../list-keys.ts';
import { useCauseText, useCode } from '../parts/code.ts';
import { Icon } from '../parts/icon.tsx';
import { Nothing, PageFailure } from '../parts/standing.tsx';
import { Time } from '../parts/time.tsx';
import { useSession, type Workspace } from '../session.tsx';
import { ofWorkspace, PageHead } from '../shell.tsx';

export default ofWorkspace(InboxPage);

function InboxPage({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('inbox');
  const { may } = useSession();
  const [typed, setTyped] = useState('');
  const [q, setQ] = useState('');
  const search = useDebouncedCallback(setQ, 250);
  return (
    <>
      <PageHead title={t('title')}>
        {may('operator', workspace.id) && (
          <TextInput
            type="search"
            aria-label={t('search')}
            placeholder={t('search')}
            leftSection={<Icon name="search" size={14} />}
            w={{ base: '100%', xs: 380 }}
            value={typed}
            onChange={({ currentTarget: { value } }) => {
              setTyped(value);
              search(value.trim());
            }}
          />
        )}
      </PageHead>
      {q.length < 3 ? (
        <Causes workspace={workspace} />
      ) : (
        <div className="page-body">
          <Caught workspace={workspace} q={q} />
        </div>
      )}
    </>
  );
}

function Causes({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('inbox');
  const format = useFormatter();
  const { may } = useSession();
  const [params] = useSearchParams();
  const [, go] = useLocation();
  const { data, error, refetch } = useInbox(workspace.id, may('viewer'));
  const link = params.get('link');
  const rows = (data ?? []).filter(
    (one) => link === null || (one.kind !== 'failed' && one.href.includes(link)),
  );
  const open = (index: number) => rows[index] !== undefined && go(rows[index].href);
  const at = useListKeys(rows.length, { enter: open, e: open });
  if (error !== null) return <PageFailure error={error} again={() => void refetch()} />;
  if (data === undefined)
    return (
      <div className="page-body" role="status" aria-label={t('title')}>
        {[0, 1, 2, 3].map((n) => (
          <Skeleton key={n} height={36} mb={8} />
        ))}
      </div>
    );
  if (rows.length === 0)
    return (
      <Nothing icon="done" title={t('none')}>
        {t('noneHint')}
      </Nothing>
    );
  return (
    <>
      <ul className="plain rows">
        {rows.map((one, index) => (
          <li key={one.key} data-at={index === at ? '' : undefined}>
            <Icon name={CAUSE_ICONS[one.kind]} />
            <strong className="count">
              {format.number(one.total)}
              {one.kind === 'duplicates' && one.more && '+'}
            </strong>
            <span className="grow">
              <Link href={one.href} className="row">
                <CauseTitle cause={one} />
              </Link>
              <CauseUnder cause={one} />
            </span>
            <span className="soft when">
              {one.newest !== null && <Time at={one.newest} near />}
            </span>
          </li>
        ))}
      </ul>
      <p className="soft keys">{t('keys')}</p>
    </>
  );
}

function CauseTitle({ cause: one }: { cause: Cause }) {
  const t = useTranslations('inbox');
  const text = useCauseText();
  const held = useCode(({ held }) => held);
  switch (one.kind) {
    case 'refused':
      return text(one.cause);
    case 'held':
      return held(one.cause.reason);
    case 'failed':
      return one.reason;
    case 'duplicates':
      return t('duplicates');
  }
}

function CauseUnder({ cause: one }: { cause: Cause }) {
  const t = useTranslations('inbox');
  const link =
    one.kind === 'refused' || one.kind === 'held'
      ? one.cause.linkLabel || one.cause.linkId.slice(0, 8)
      : null;
  return (
    <span className="soft">
      {t(`kind.${one.kind}`)}
      {link !== null && ` · ${link}`}
    </span>
  );
}
