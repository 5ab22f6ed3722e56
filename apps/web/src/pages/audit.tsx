import { Badge, SegmentedControl, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslations } from 'use-intl';
import { Link } from 'wouter';
import { type Answer, api } from '../api.ts';
import { Pages } from '../parts/pages.tsx';
import { Nothing, NotYours, PageFailure } from '../parts/standing.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { useSession } from '../session.tsx';
import { PageHead } from '../shell.tsx';
import { typed } from '../parts/typed.ts';

type Entry = Answer<'/api/audit', 'get'>[number] | Answer<'/api/reads', 'get'>[number];

const A_PAGE = 100;

/** Who did what, and who read what about people. */
export default function AuditPage() {
  const t = useTranslations('audit');
  const { may } = useSession();
  const [reads, setReads] = useState(false);
  const [action, setAction] = useState('');
  const [actor, setActor] = useState('');
  const [since, setSince] = useState('');
  const [filter] = useDebouncedValue(
    {
      ...(actor.trim() !== '' && { actor: actor.trim() }),
      ...(since !== '' && { since: new Date(`${since}T00:00`).toISOString() }),
    },
    300,
  );
  const [named] = useDebouncedValue(action.trim(), 300);
  const allowed = may('administrator');
  const list = useInfiniteQuery({
    queryKey: ['audit', reads, filter, named],
    enabled: allowed,
    queryFn: async ({ pageParam }): Promise<readonly Entry[]> => {
      const page = { ...filter, limit: A_PAGE, ...(pageParam !== null && { before: pageParam }) };
      if (reads) return api.get('/api/reads', { query: page });
      const query = { ...page, ...(named !== '' && { action: named }) };
      return api.get('/api/audit', { query });
    },
    initialPageParam: null as number | null,
    getNextPageParam: (last) => (last.length < A_PAGE ? null : (last.at(-1)?.id ?? null)),
  });
  if (!allowed) return <NotYours />;
  return (
    <>
      <PageHead title={t('title')} />
      <div className="bar">
        <SegmentedControl
          aria-label={t('which')}
          data={[
            { value: 'done', label: t('done') },
            { value: 'reads', label: t('reads') },
          ]}
          value={reads ? 'reads' : 'done'}
          onChange={(value) => setReads(value === 'reads')}
        />
        {!reads && (
          <TextInput
            aria-label={t('action')}
            placeholder={t('actionExample')}
            w={190}
            {...typed(action, setAction)}
          />
        )}
        <TextInput
          aria-label={t('who')}
          placeholder={t('who')}
          w={140}
          {...typed(actor, setActor)}
        />
        <TextInput type="date" aria-label={t('since')} {...typed(since, setSince)} />
      </div>
      <PageFailure error={list.error} />
      <Pages list={list} none={<Nothing icon="audit" title={t('none')} />} more={t('older')}>
        {(entries) => <Entries entries={entries} />}
      </Pages>
    </>
  );
}

function Entries({ entries }: { entries: readonly Entry[] }) {
  const t = useTranslations('audit');
  const kinds = useTranslations('audit.kind');
  return (
    <Table columns={[t('what'), { text: t('who'), keep: true }, t('on'), t('outcome'), t('when')]}>
      {entries.map((entry) => {
        const { id, at, actor, action } = entry;
        const kind = KINDS.find((one) => one === actor.kind);
        const on =
          'subject' in entry ? (
            <Subject subject={entry.subject} />
          ) : (
            <Read leadIds={entry.leadIds} />
          );
        const outcome = 'subject' in entry && <Outcome outcome={entry.outcome} />;
        return (
          <tr key={id}>
            <td>
              <code>{action}</code>
              <span className="under">
                <Time at={at} /> {outcome}
              </span>
              <div className="under wraps">{on}</div>
            </td>
            <td data-keep>
              {actor.name}
              {kind !== undefined && <span className="second">{kinds(kind)}</span>}
            </td>
            <td className="wraps">{on}</td>
            <td>{outcome}</td>
            <td>
              <Time at={at} />
            </td>
          </tr>
        );
      })}
    </Table>
  );
}

/** What it was done to, and from what to what its settings were changed. */
function Subject({ subject: { changed, ...subject } }: { subject: Record<string, string> }) {
  const { workspaces } = useSession();
  const named = (id: string) => workspaces.find((one) => one.id === id)?.name ?? id;
  return (
    <>
      {Object.entries(subject).map(([name, value]) => (
        <span key={name} className="subject">
          <span className="soft">{name}</span> {name === 'workspaceId' ? named(value) : value}
        </span>
      ))}
      {changed !== undefined && (
        <dl className="changes">
          {changesOf(changed).map(([name, before, after]) => (
            <div key={name}>
              <dt>{name}</dt>
              {before !== undefined && (
                <dd>
                  <del>{before}</del> → <ins>{after}</ins>
                </dd>
              )}
            </div>
          ))}
        </dl>
      )}
    </>
  );
}

/** Settings that were changed, as the log tells them: `mode: strict → lenient, guard.captcha.secret`. */
function changesOf(changed: string): [name: string, before?: string, after?: string][] {
  return changed.split(/, (?=[\w.]+(?:: |, |$))/).map((one) => {
    const [, name = one, before, after] = /^([\w.]+): (.*) → (.*)$/s.exec(one) ?? [];
    return before === undefined || after === undefined ? [name] : [name, before, after];
  });
}

const KINDS = ['operator', 'token', 'command-line'] as const;
const OUTCOMES = ['done', 'refused', 'failed'] as const;
const COLORS = { done: 'pine', refused: 'yellow', failed: 'red' };

function Outcome({ outcome }: { outcome: string | null }) {
  const t = useTranslations('audit.outcomes');
  const known = OUTCOMES.find((one) => one === outcome);
  return (
    <Badge color={known === undefined ? 'gray' : COLORS[known]}>{t(known ?? 'unknown')}</Badge>
  );
}

const MOST_LEADS = 3;

function Read({ leadIds }: { leadIds: readonly string[] }) {
  const t = useTranslations('audit');
  return (
    <>
      {leadIds.slice(0, MOST_LEADS).map((id) => (
        <Link key={id} href={`/leads/${id}`} className="subject">
          {id.slice(0, 8)}
        </Link>
      ))}
      {leadIds.length > MOST_LEADS && t('andMore', { count: leadIds.length - MOST_LEADS })}
    </>
  );
}
