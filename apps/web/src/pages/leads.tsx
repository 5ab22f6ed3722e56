import {
  ActionIcon,
  Button,
  Checkbox,
  Group,
  Menu,
  Pill,
  Popover,
  Stack,
  TextInput,
} from '@mantine/core';
import { useDebouncedCallback, useLocalStorage } from '@mantine/hooks';
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, useState } from 'react';
import { useTranslations } from 'use-intl';
import { Link, useSearchParams } from 'wouter';
import { type Answer, answered, api } from '../api.ts';
import { leadsAsked } from '../asked.ts';
import { useChange, useGet } from '../queries.ts';
import { Caught } from '../caught.tsx';
import {
  LeadFilters,
  useFields,
  useFilterChips,
  useLeadFilter,
  useUnaddressed,
} from '../lead-filters.tsx';
import { useListKeys } from '../list-keys.ts';
import { Icon } from '../parts/icon.tsx';
import { nameOf, textOf } from '../parts/text.ts';
import { Failure, Nothing, Waiting, PageFailure } from '../parts/standing.tsx';
import { Form } from '../parts/styled.tsx';
import { Time } from '../parts/time.tsx';
import { useSession, type Workspace } from '../session.tsx';
import { ofWorkspace, PageHead } from '../shell.tsx';
import { typed } from '../parts/typed.ts';

type LeadList = Answer<'/api/workspaces/{workspaceId}/leads/search', 'post'>;
type Lead = LeadList['leads'][number];

/** Columns beside the name, by the member of a lead. */
const COLUMNS = [
  ...(['email', 'telephone', 'city', 'state', 'profession', 'document', 'instagram'] as const),
  ...(['birthday', 'utmSource', 'utmMedium', 'utmCampaign', 'createdAt', 'updatedAt'] as const),
] as const;
type Column = (typeof COLUMNS)[number];
const FIRST_COLUMNS: readonly string[] = [
  ...(['email', 'telephone', 'city', 'utmSource', 'utmCampaign', 'createdAt'] satisfies Column[]),
];
const TIMES: readonly string[] = ['createdAt', 'updatedAt'] satisfies Column[];
/** Those that give way when a window is too narrow for all. */
const LONG: readonly string[] = ['email', 'utmCampaign'] satisfies Column[];

export default ofWorkspace(Leads);

function Leads({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('leads');
  const { may } = useSession();
  const [q, setQ] = useUnaddressed('search', workspace.id);
  const [typed, setTyped] = useState(q);
  const search = useDebouncedCallback(setQ, 250);
  const [columns, setColumns] = useLocalStorage<readonly string[]>({
    key: `leadgate.columns.${workspace.id}`,
    defaultValue: FIRST_COLUMNS,
    getInitialValueInEffect: false,
  });
  const chips = useFilterChips(workspace);
  return (
    <>
      <PageHead title={t('title')}>
        <TextInput
          type="search"
          aria-label={t('search')}
          placeholder={t(may('operator', workspace.id) ? 'search' : 'searchWhole')}
          leftSection={<Icon name="search" size={14} />}
          w={{ base: '100%', xs: 240 }}
          value={typed}
          onChange={({ currentTarget: { value } }) => {
            setTyped(value);
            search(value);
          }}
        />
        <Views workspace={workspace} />
        <Columns workspace={workspace} chosen={columns} choose={setColumns} />
        {may('operator', workspace.id) && <Export workspace={workspace} />}
      </PageHead>
      <div className="bar">
        <LeadFilters workspace={workspace} />
        {chips.map(({ name, text, remove }) => (
          <Pill
            key={name}
            withRemoveButton
            onRemove={remove}
            removeButtonProps={{
              'aria-label': t('removeFilter', { name: text }),
              tabIndex: 0,
              'aria-hidden': false,
            }}
          >
            {text}
          </Pill>
        ))}
      </div>
      {q === '' ? (
        <Filtered workspace={workspace} columns={columns} />
      ) : (
        <Found workspace={workspace} q={q} columns={columns} />
      )}
    </>
  );
}

interface Shown {
  workspace: Workspace;
  columns: readonly string[];
}

/** Those that fit the filter of the address, page after page as one scrolls. */
function Filtered({ workspace, columns }: Shown) {
  const t = useTranslations('leads');
  const filter = useLeadFilter(workspace.id);
  const { data, error, isPending, hasNextPage, isFetchingNextPage, fetchNextPage, refetch } =
    useInfiniteQuery({
      queryKey: ['/api/workspaces/{workspaceId}/leads/search', workspace.id, filter],
      queryFn: ({ pageParam }) =>
        api.post('/api/workspaces/{workspaceId}/leads/search', {
          path: { workspaceId: workspace.id },
          body: leadsAsked(filter, pageParam),
        }),
      initialData() {
        const url = `/api/workspaces/${workspace.id}/leads/search`;
        const pages = answered<LeadList>({ url, body: JSON.stringify(leadsAsked(filter, null)) });
        return pages && { pages, pageParams: [null] };
      },
      initialPageParam: null as string | null,
      getNextPageParam: (last) => last.next,
    });
  if (error !== null) return <PageFailure error={error} again={() => void refetch()} />;
  if (isPending) return <Waiting />;
  const leads = data.pages.flatMap((page) => page.leads);
  // A page that found few in its time is no end.
  const more = hasNextPage && !isFetchingNextPage ? () => void fetchNextPage() : null;
  if (leads.length === 0 && !hasNextPage)
    return (
      <Nothing icon="leads" title={t(Object.keys(filter).length === 0 ? 'none' : 'noneFits')}>
        {t(Object.keys(filter).length === 0 ? 'noneHint' : 'noneFitsHint')}
      </Nothing>
    );
  return (
    <>
      <LeadTable leads={leads} columns={columns} more={more} />
      <Group justify="center" p="md" mih={64}>
        {isFetchingNextPage ? (
          <Waiting />
        ) : hasNextPage ? (
          <Button variant="default" onClick={() => void fetchNextPage()}>
            {t('more')}
          </Button>
        ) : (
          <span className="soft">{t('end', { count: leads.length })}</span>
        )}
      </Group>
    </>
  );
}

const MOST_FOUND = 200;

/** Those that a search finds. */
function Found({ workspace, q, columns }: Shown & { q: string }) {
  const t = useTranslations('leads');
  const { may } = useSession();
  const { data, error, isPending } = useQuery({
    queryKey: ['leads', 'found', workspace.id, q],
    queryFn: () =>
      api.post('/api/leads/search', {
        body: { q, workspaceId: workspace.id, limit: MOST_FOUND },
      }),
    placeholderData: keepPreviousData,
  });
  if (error !== null) return <PageFailure error={error} />;
  if (isPending) return <Waiting />;
  if (data.length === 0)
    return (
      <>
        <Nothing icon="search" title={t('notFound', { q })}>
          {t('notFoundHint')}
        </Nothing>
        {q.trim().length > 2 && may('operator', workspace.id) && (
          <div className="page-body">
            <Caught workspace={workspace} q={q.trim()} />
          </div>
        )}
      </>
    );
  return <LeadTable leads={data} columns={columns} more={null} />;
}

const ROW_PX = 37;

/** Only the rows in sight are there, however many were loaded. */
function LeadTable({
  leads,
  columns,
  more,
}: {
  leads: readonly Lead[];
  columns: readonly string[];
  more: (() => void) | null;
}) {
  const t = useTranslations('leads');
  const [top, setTop] = useState(0);
  const rows = useWindowVirtualizer({
    count: leads.length,
    estimateSize: () => ROW_PX,
    overscan: 12,
    scrollMargin: top,
  });
  const shown = rows.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  useEffect(() => {
    if (more !== null && last >= leads.length - 20) more();
  }, [more, last, leads.length]);
  const at = useListKeys(leads.length, {}, (index) => {
    rows.scrollToIndex(index);
    document.querySelector<HTMLAnchorElement>(`tr[data-index="${index}"] a.row`)?.focus();
  });
  const before = (shown[0]?.start ?? 0) - rows.options.scrollMargin;
  const after = rows.getTotalSize() - (shown.at(-1)?.end ?? 0) + rows.options.scrollMargin;
  return (
    <table className="list" aria-rowcount={leads.length + 1}>
      <thead>
        <tr>
          <th scope="col">{t('column.name')}</th>
          {columns.map((column) => (
            <th key={column} scope="col">
              {isColumn(column) ? t(`column.${column}`) : column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody ref={(body) => setTop(body?.offsetTop ?? 0)}>
        {before > 0 && <tr style={{ height: before }} aria-hidden />}
        {shown.map(({ index, key }) => {
          const lead = leads[index];
          return lead === undefined ? null : (
            <tr
              key={key}
              ref={rows.measureElement}
              data-index={index}
              data-at={index === at ? '' : undefined}
              aria-rowindex={index + 2}
            >
              <td>
                <Link href={`/leads/${lead.leadId}`} className="row">
                  {nameOf(lead)}
                </Link>
                <span className="under">
                  {[lead.email, lead.telephone].filter(Boolean).join(' · ')}
                </span>
              </td>
              {columns.map((column) => (
                <td key={column}>
                  <Value lead={lead} column={column} />
                </td>
              ))}
            </tr>
          );
        })}
        {after > 0 && <tr style={{ height: after }} aria-hidden />}
      </tbody>
    </table>
  );
}

const isColumn = (name: string): name is Column => COLUMNS.some((one) => one === name);

function Value({ lead, column }: { lead: Lead; column: string }) {
  const value = isColumn(column) ? lead[column] : lead.customFields[column];
  if (value === undefined || value === null || value === '') return <span className="soft">–</span>;
  if (typeof value === 'string' && TIMES.includes(column)) return <Time at={value} near />;
  return LONG.includes(column) ? <span className="long">{textOf(value)}</span> : textOf(value);
}

function Columns({
  workspace,
  chosen,
  choose,
}: {
  workspace: Workspace;
  chosen: readonly string[];
  choose: (columns: readonly string[]) => void;
}) {
  const t = useTranslations('leads');
  const fields = useFields(workspace.id);
  const own = (fields.data ?? []).filter(({ archived }) => !archived);
  const all = [...COLUMNS, ...own.map(({ name }) => name)];
  return (
    <Popover position="bottom-end" width={230} shadow="md" trapFocus>
      <Popover.Target>
        <Button variant="default" leftSection={<Icon name="columns" size={14} />} visibleFrom="sm">
          {t('columns')}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={t('columns')}>
        <Stack gap={8} mah={360} style={{ overflowY: 'auto' }}>
          {all.map((column) => (
            <Checkbox
              key={column}
              label={
                isColumn(column)
                  ? t(`column.${column}`)
                  : (own.find(({ name }) => name === column)?.label ?? column)
              }
              checked={chosen.includes(column)}
              onChange={({ currentTarget: { checked } }) =>
                choose(all.filter((one) => (one === column ? checked : chosen.includes(one))))
              }
            />
          ))}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}

/** What is filtered, as a file. By a form, so that the browser writes it as it comes. */
function Export({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('leads');
  const filter = useLeadFilter(workspace.id);
  const form = useRef<HTMLFormElement>(null);
  const format = useRef<HTMLInputElement>(null);
  const write = (wanted: 'csv' | 'ndjson') => {
    if (format.current !== null) format.current.value = wanted;
    form.current?.submit();
  };
  return (
    <>
      <form ref={form} method="post" action={`/api/workspaces/${workspace.id}/leads/export`} hidden>
        <input ref={format} type="hidden" name="format" />
        {Object.entries(filter).map(([name, value]) => (
          <input key={name} type="hidden" name={name} value={String(value)} />
        ))}
      </form>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" leftSection={<Icon name="download" size={14} />}>
            {t('export')}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Label>{t('exportHint')}</Menu.Label>
          <Menu.Item onClick={() => write('csv')}>CSV</Menu.Item>
          <Menu.Item onClick={() => write('ndjson')}>JSON lines</Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </>
  );
}

/** Filters that the reader keeps under a name. The value of a custom field may name a person: it stays in this browser. */
function Views({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('leads');
  const [params, setParams] = useSearchParams();
  const [value, setValue] = useUnaddressed('value', workspace.id);
  const [values, setValues] = useLocalStorage<Record<string, string>>({
    key: 'leadgate.views.values',
    defaultValue: {},
  });
  const [name, setName] = useState('');
  const kept = useGet('/api/me/views', {});
  const views = kept.data ?? [];
  const keeping = useChange(['/api/me/views'], (body: { views: typeof views }) =>
    api.post('/api/me/views', { body }),
  );
  const error = kept.error ?? keeping.error;
  const keep = () => {
    const wanted = name.trim();
    if (wanted === '') return;
    const others = views.filter((one) => one.name !== wanted);
    if (params.has('field')) setValues({ ...values, [wanted]: value });
    keeping.mutate({ views: [...others, { name: wanted, query: params.toString() }] });
    setName('');
  };
  return (
    <Popover position="bottom-end" width={250} shadow="md" trapFocus>
      <Popover.Target>
        <Button variant="default" leftSection={<Icon name="saved" size={14} />}>
          {t('views')}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={t('views')}>
        <Stack gap={6}>
          {views.map((view) => (
            <Group key={view.name} justify="space-between" wrap="nowrap" gap={4}>
              <Button
                variant="subtle"
                color="gray"
                justify="flex-start"
                flex={1}
                onClick={() => {
                  setValue(values[view.name] ?? '');
                  setParams(new URLSearchParams(view.query));
                }}
              >
                {view.name}
              </Button>
              <ActionIcon
                variant="subtle"
                color="gray"
                aria-label={t('removeView', { name: view.name })}
                onClick={() => keeping.mutate({ views: views.filter((one) => one !== view) })}
              >
                <Icon name="erase" size={14} />
              </ActionIcon>
            </Group>
          ))}
          <Form send={keep}>
            <Group gap={4} wrap="nowrap">
              <TextInput
                aria-label={t('viewName')}
                placeholder={t('viewName')}
                flex={1}
                {...typed(name, setName)}
              />
              <Button type="submit" loading={keeping.isPending} disabled={kept.data === undefined}>
                {t('keep')}
              </Button>
            </Group>
          </Form>
          <Failure error={error} />
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
