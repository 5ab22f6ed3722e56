import { Button, Group, Select, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useFormatter, useTranslations } from 'use-intl';
import { Link, useSearchParams } from 'wouter';
import { useAddress } from '../address.ts';
import { type Answer, api, ApiProblem } from '../api.ts';
import { useGet } from '../queries.ts';
import { type RefusedCause, useInbox, useRefreshed } from '../inbox-data.ts';
import { useListKeys } from '../list-keys.ts';
import { pathOf, useCauseText, useCode, useFieldName } from '../parts/code.ts';
import { RunProgress, useRun } from '../parts/run.tsx';
import { Failure, Nothing, Waiting, PageFailure } from '../parts/standing.tsx';
import { textOf } from '../parts/text.ts';
import { Time } from '../parts/time.tsx';
import { useSession, type Workspace } from '../session.tsx';
import { Back, ofWorkspace, PageHead } from '../shell.tsx';
import { typed } from '../parts/typed.ts';
import { CodeInput } from '../parts/form-code.tsx';
import { CodeBlock, Form, Hint, RowButton } from '../parts/styled.tsx';

type Post = Answer<'/api/rejected', 'get'>[number];

const LISTED = 50;

export default ofWorkspace(RefusedPage);

/** Begun anew for another cause. */
function RefusedPage({ workspace }: { workspace: Workspace }) {
  const [params] = useSearchParams();
  return <Refused key={`${params.get('cause')} ${params.get('link')}`} workspace={workspace} />;
}

function Refused({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('inbox');
  const text = useCauseText();
  const { may } = useSession();
  const { params, set } = useAddress();
  const cause = params.get('cause');
  const linkId = params.get('link');
  const [run, setRun] = useState<Begun | null>(null);
  const leaveOut = useLeaveOut(workspace.id);
  const inbox = useInbox(workspace.id, may('viewer'));
  const group = inbox.data?.flatMap((one) =>
    one.kind === 'refused' && one.cause.cause === cause && one.cause.linkId === linkId
      ? [one.cause]
      : [],
  )[0];
  const list = useGet('/api/rejected', {
    query: {
      ...{ workspaceId: workspace.id, replayed: false, limit: LISTED },
      ...(cause !== null && { cause }),
      ...(linkId !== null && { linkId }),
    },
    enabled: cause !== null,
  });
  const posts = list.data ?? [];
  const chosen = params.get('post') ?? posts[0]?.rejectedId ?? null;
  const choose = (post: string | null) => set({ post }, true);
  useListKeys(
    posts.length,
    { e: () => document.querySelector<HTMLElement>('[aria-invalid=true]')?.focus() },
    (index) => choose(posts[index]?.rejectedId ?? null),
  );
  if (list.error !== null)
    return <PageFailure error={list.error} again={() => void list.refetch()} />;
  const first = posts[0];
  return (
    <>
      <PageHead
        title={first === undefined ? t('kind.refused') : text(first)}
        before={<Back to="/inbox" label={t('back')} />}
        hint={
          group !== undefined &&
          t('of', { count: group.total, link: group.linkLabel || group.linkId.slice(0, 8) })
        }
      />
      <div className="page-body">
        {run !== null && <MendProgress run={run} />}
        <LeftOut leaveOut={leaveOut} />
        {run === null && group !== undefined && may('operator', workspace.id) && (
          <MendAll workspace={workspace} group={group} begun={setRun} leaveOut={leaveOut} />
        )}
        {chosen === null ? (
          list.isPending && cause !== null ? (
            <Waiting />
          ) : (
            <Nothing icon="done" title={t('allMended')}>
              <Link href="/inbox">{t('back')}</Link>
            </Nothing>
          )
        ) : (
          <div className="beside">
            {posts.length > 0 && <Posts posts={posts} chosen={chosen} choose={choose} />}
            <Mend
              key={chosen}
              rejectedId={chosen}
              leaveOut={leaveOut}
              next={() => {
                const at = posts.findIndex(({ rejectedId }) => rejectedId === chosen);
                choose((posts[at + 1] ?? posts[at - 1])?.rejectedId ?? null);
              }}
            />
          </div>
        )}
      </div>
    </>
  );
}

/** Leaves posts out, some or all of a cause; those that were left out at a moment wait again. */
function useLeaveOut(workspaceId: string) {
  const refreshed = useRefreshed();
  const path = { workspaceId };
  return useMutation({
    async mutationFn(
      which:
        { rejectedIds: string[] } | { cause: string; linkId: string } | { dismissedAt: string },
    ) {
      if (!('dismissedAt' in which))
        return api.post('/api/workspaces/{workspaceId}/rejected/dismiss', {
          path,
          body: which,
        });
      await api.post('/api/workspaces/{workspaceId}/rejected/restore', { path, body: which });
      return null;
    },
    onSettled: refreshed,
  });
}
type LeaveOut = ReturnType<typeof useLeaveOut>;

/** What was left out just now, and the way back. */
function LeftOut({ leaveOut: { data, error, mutate } }: { leaveOut: LeaveOut }) {
  const t = useTranslations('inbox');
  if (error !== null) return <Failure act error={error} />;
  if (data == null) return null;
  const { count, dismissedAt } = data;
  return (
    <Group gap="sm" mb="md" role="status">
      <Text size="sm">{t('decided.discard', { count })}</Text>
      <Button variant="default" onClick={() => mutate({ dismissedAt })}>
        {t('undo')}
      </Button>
    </Group>
  );
}

function Posts({
  posts,
  chosen,
  choose,
}: {
  posts: readonly Post[];
  chosen: string;
  choose: (post: string) => void;
}) {
  const t = useTranslations('inbox');
  return (
    <section aria-label={t('posts')}>
      <ul className="plain rows inset scroll">
        {posts.map(({ rejectedId, at, bytes }) => (
          <li key={rejectedId} data-at={rejectedId === chosen ? '' : undefined}>
            <RowButton aria-current={rejectedId === chosen} onClick={() => choose(rejectedId)}>
              <Time at={at} />
            </RowButton>
            <span className="soft">{t('bytes', { bytes })}</span>
          </li>
        ))}
      </ul>
      {posts.length === LISTED && <p className="soft keys">{t('newestOf', { count: LISTED })}</p>}
    </section>
  );
}

/** The fields of a body by their paths, as far as it is a form or a JSON object; null if it is neither. */
function fieldsOf(body: string, bodyType: string): Record<string, string> | null {
  if (bodyType !== 'json' && !/^\s*[{[]/.test(body))
    return Object.fromEntries(new URLSearchParams(body));
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(flat(value, ''))
      : null;
  } catch {
    return null;
  }
}

function flat(value: object, before: string): [string, string][] {
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]): [string, string][] =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner) && before === ''
      ? flat(inner, `${name}.`)
      : [[before + name, textOf(inner)]],
  );
}

interface Fault {
  pointer: string;
  code: string;
  detail: string;
}

/** One refused post: its fields, what is wrong at each, and what it becomes when it is mended. */
function Mend({
  rejectedId,
  ...rest
}: {
  rejectedId: string;
  next: () => void;
  leaveOut: LeaveOut;
}) {
  const t = useTranslations('inbox');
  const { data, error, isPending } = useGet('/api/rejected/{rejectedId}', { path: { rejectedId } });
  if (error !== null) return <Failure error={error} />;
  if (isPending) return <Waiting />;
  if (data.submissionId !== null)
    return (
      <section className="card lead-card">
        <Text size="sm">{t('wasMended')}</Text>
      </section>
    );
  return <MendForm post={data} {...rest} />;
}

function MendForm({
  post,
  next,
  leaveOut,
}: {
  post: Answer<'/api/rejected/{rejectedId}', 'get'>;
  next: () => void;
  leaveOut: LeaveOut;
}) {
  const t = useTranslations('inbox');
  const words = useCode();
  const nameOfField = useFieldName();
  const { may } = useSession();
  const refreshed = useRefreshed();
  const path = { rejectedId: post.rejectedId };
  const body = post.mended ?? post;
  const fields = fieldsOf(body.body, body.bodyType);
  const [written, setWritten] = useState<Record<string, string>>({});
  const [whole, setWhole] = useState(body.body);
  const act = useMutation({
    async mutationFn(lenient: boolean) {
      if (fields === null && whole !== body.body)
        await api.post('/api/rejected/{rejectedId}/mend', { path, body: { body: whole } });
      if (Object.keys(written).length > 0)
        await api.post('/api/rejected/{rejectedId}/mend', { path, body: { set: written } });
      return api.post('/api/rejected/{rejectedId}/replay', { path, body: { lenient } });
    },
    async onSuccess() {
      next();
      await refreshed();
    },
  });
  const faults: readonly Fault[] =
    act.error instanceof ApiProblem ? (act.error.problem.errors ?? []) : post.errors;
  const wrong = faults.flatMap(({ pointer }) => (pointer === '' ? [] : [pathOf(pointer)]));
  const faultAt = (path: string) =>
    faults
      .filter(({ pointer }) => pathOf(pointer) === path)
      .map(({ code, detail }) => (words(code) === code ? detail : words(code)))
      .join(' ') || undefined;
  // Those that are wrong first, those that were not sent among them.
  const paths = [...new Set([...wrong, ...Object.keys(fields ?? {})])];
  const ofAll = faults.filter(({ pointer }) => pointer === '');
  const mayAct = may('operator', post.workspaceId);
  return (
    <section className="card lead-card">
      <Form send={() => act.mutate(false)}>
        <Group justify="space-between" mb="xs">
          <Title order={2}>{t('post')}</Title>
          <Hint size="xs">
            <Time at={post.at} />
          </Hint>
        </Group>
        {post.dismissedAt !== null && (
          <p className="note" role="status">
            {t('wasLeftOut')}
          </p>
        )}
        {ofAll.map(({ code, detail }) => (
          <p key={code} className="note" role="alert">
            {words(code) === code ? detail : words(code)}
          </p>
        ))}
        <fieldset className="bare" disabled={!mayAct}>
          {fields === null ? (
            <CodeInput label={t('body')} minRows={6} {...typed(whole, setWhole)} />
          ) : (
            <div className="mend-fields">
              {paths.map((path) => (
                <TextInput
                  key={path}
                  label={nameOfField(path)}
                  value={written[path] ?? fields[path] ?? ''}
                  error={faultAt(path)}
                  onChange={({ currentTarget: { value } }) =>
                    setWritten((now) => ({ ...now, [path]: value }))
                  }
                />
              ))}
            </div>
          )}
          {act.error !== null && !(act.error instanceof ApiProblem) && (
            <Failure act error={act.error} />
          )}
          {mayAct && (
            <Group mt="md" gap="xs">
              <Button type="submit" loading={act.isPending}>
                {t('take')}
              </Button>
              {wrong.length > 0 && (
                <Button variant="default" onClick={() => act.mutate(true)}>
                  {t('takeWithout')}
                </Button>
              )}
              {post.dismissedAt === null ? (
                <Button
                  variant="default"
                  disabled={leaveOut.isPending}
                  onClick={() => {
                    leaveOut.mutate({ rejectedIds: [post.rejectedId] });
                    next();
                  }}
                >
                  {t('verb.discard')}
                </Button>
              ) : (
                <Button
                  variant="default"
                  onClick={() => leaveOut.mutate({ dismissedAt: post.dismissedAt ?? '' })}
                >
                  {t('waitAgain')}
                </Button>
              )}
              <Button variant="subtle" color="gray" onClick={next}>
                {t('skip')}
              </Button>
            </Group>
          )}
        </fieldset>
      </Form>
      <details className="sent">
        <summary>{t('asSent')}</summary>
        <CodeBlock>{post.body}</CodeBlock>
      </details>
    </section>
  );
}

/** A run that mends, begun here, and of how many. */
interface Begun {
  id: string;
  total: number;
}

/** How far it is; the lists are read again once it has ended. */
function MendProgress({ run: { id, total } }: { run: Begun }) {
  const t = useTranslations('inbox');
  const refreshed = useRefreshed();
  const { data } = useRun(id);
  const state = data?.state ?? 'running';
  useEffect(() => {
    if (state !== 'running') void refreshed();
  }, [state, refreshed]);
  return (
    <RunProgress
      runId={id}
      describe={({ progress: { accepted = 0, refused = 0 } }) => t('counts', { accepted, refused })}
      partOf={({ progress: { accepted = 0, refused = 0 } }) => (accepted + refused) / total}
    />
  );
}

const WAYS = ['without', 'move', 'set'] as const;
const MOVED_TO = ['telephone', 'email', 'name', 'instagram', 'document', 'profession', 'city'];

/** Mends all posts of a cause in the same way: said first, tried, and then done as a run. */
function MendAll({
  workspace,
  group,
  begun,
  leaveOut,
}: {
  workspace: Workspace;
  group: RefusedCause;
  begun: (run: Begun) => void;
  leaveOut: LeaveOut;
}) {
  const t = useTranslations('inbox');
  const format = useFormatter();
  const nameOfField = useFieldName();
  const fields = group.errors.flatMap(({ pointer }) => (pointer === '' ? [] : [pathOf(pointer)]));
  const [way, setWay] = useState<(typeof WAYS)[number]>(fields.length > 0 ? 'without' : 'set');
  const [field, setField] = useState(fields[0] ?? 'email');
  const [to, setTo] = useState<string | null>(null);
  const [value, setValue] = useState('');
  const input = {
    ...{ linkId: group.linkId, cause: group.cause },
    ...(way === 'without' && { lenient: true }),
    ...(way === 'move' && to !== null && { move: { [field]: to } }),
    ...(way === 'set' && { set: { [field]: value } }),
  };
  const path = { workspaceId: workspace.id };
  const post = (dryRun: boolean) =>
    api.post('/api/workspaces/{workspaceId}/rejected/mend', { path, body: { ...input, dryRun } });
  const preview = useMutation({
    async mutationFn() {
      const answer = await post(true);
      return 'accepted' in answer ? answer : null;
    },
  });
  const begin = useMutation({
    async mutationFn() {
      const answer = await post(false);
      return 'id' in answer ? answer.id : null;
    },
    onSuccess: (id) => {
      preview.reset();
      if (id !== null) begun({ id, total: group.total });
    },
  });
  const change =
    <T,>(set: (to: T) => void) =>
    (next: T) => {
      preview.reset();
      set(next);
    };
  return (
    <section className="card lead-card mend-all" aria-labelledby="mend-all">
      <Title order={2} id="mend-all">
        {t('all', { count: group.total })}
      </Title>
      <Group gap="xs" align="flex-end">
        <Select
          label={t('how')}
          data={WAYS.filter((one) => one !== 'without' || fields.length > 0).map((one) => ({
            value: one,
            label: t(`way.${one}`),
          }))}
          value={way}
          allowDeselect={false}
          onChange={change((next: string | null) =>
            setWay(WAYS.find((one) => one === next) ?? 'without'),
          )}
        />
        {way !== 'without' && fields.length !== 1 && (
          <Select
            label={t('field')}
            data={(fields.length > 0 ? fields : MOVED_TO).map((path) => ({
              value: path,
              label: nameOfField(path),
            }))}
            value={field}
            allowDeselect={false}
            onChange={change((next: string | null) => setField(next ?? field))}
          />
        )}
        {way === 'move' && (
          <Select
            label={t('to')}
            data={MOVED_TO.filter((path) => path !== field).map((path) => ({
              value: path,
              label: nameOfField(path),
            }))}
            value={to}
            onChange={change(setTo)}
          />
        )}
        {way === 'set' && (
          <TextInput
            label={t('value', { field: nameOfField(field) })}
            value={value}
            onChange={({ currentTarget }) => change(setValue)(currentTarget.value)}
          />
        )}
        <Button
          variant={preview.data === undefined ? 'filled' : 'default'}
          loading={preview.isPending}
          disabled={way === 'move' && to === null}
          onClick={() => preview.mutate()}
        >
          {t('preview')}
        </Button>
        <Button
          variant="default"
          loading={leaveOut.isPending}
          onClick={() => leaveOut.mutate({ cause: group.cause, linkId: group.linkId })}
        >
          {t('verbAll.discard', { count: group.total })}
        </Button>
      </Group>
      <Hint size="xs">{t(`wayHint.${way}`)}</Hint>
      <Failure act error={preview.error ?? begin.error} />
      {preview.data && (
        <Stack gap={6} role="status">
          <Text size="sm">
            {t('would', { accepted: preview.data.accepted, refused: preview.data.refused })}
          </Text>
          {preview.data.accepted > 0 && (
            <Group>
              <Button loading={begin.isPending} onClick={() => begin.mutate()}>
                {t('takeAll', { count: format.number(preview.data.accepted) })}
              </Button>
            </Group>
          )}
        </Stack>
      )}
    </section>
  );
}
