import { Button, Group, Progress, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslations } from 'use-intl';
import { useAddress } from '../address.ts';
import { type Answer, api } from '../api.ts';
import { useGet } from '../queries.ts';
import { useRefreshed } from '../inbox-data.ts';
import { useListKeys } from '../list-keys.ts';
import { useCode } from '../parts/code.ts';
import { Failure, Nothing, Waiting, PageFailure } from '../parts/standing.tsx';
import { nameOf } from '../parts/text.ts';
import { Time } from '../parts/time.tsx';
import { CodeBlock, RowButton } from '../parts/styled.tsx';
import { useSession, type Workspace } from '../session.tsx';
import { Back, ofWorkspace, PageHead } from '../shell.tsx';

type Held = Answer<'/api/held', 'get'>[number];
type Verb = 'release' | 'discard' | 'restore';

const STATES = ['held', 'discarded', 'released'] as const;
const LISTED = 500;
/** At once, each on record by itself. */
const AT_ONCE = 4;

const actOn = (verb: Verb, heldId: string): Promise<unknown> =>
  api.post(`/api/held/{heldId}/${verb}`, { path: { heldId } });

export default ofWorkspace(HeldPosts);

function HeldPosts({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('inbox');
  const heldText = useCode(({ held }) => held);
  const { may } = useSession();
  const { params, set } = useAddress();
  const reason = params.get('reason');
  const linkId = params.get('link');
  const state = STATES.find((one) => one === params.get('state')) ?? 'held';
  const [opened, setOpened] = useState(params.get('post'));
  const list = useGet('/api/held', {
    query: {
      ...{ workspaceId: workspace.id, state, limit: LISTED },
      ...(reason !== null && { reason }),
      ...(linkId !== null && { linkId }),
    },
  });
  const decide = useDecide();
  const mayAct = may('operator', workspace.id);
  const rows = list.data ?? [];
  const toggle = (heldId: string) => setOpened(opened === heldId ? null : heldId);
  const at = useListKeys(rows.length, {
    e(index) {
      const one = rows[index];
      if (mayAct && one?.state === 'held') decide.mutate({ verb: 'discard', ids: [one.heldId] });
    },
  });
  return (
    <>
      <PageHead
        title={reason === null ? t('kind.held') : heldText(reason)}
        before={<Back to="/inbox" label={t('back')} />}
        hint={t('heldHint')}
      >
        {STATES.map((one) => (
          <Button
            key={one}
            variant={one === state ? 'light' : 'subtle'}
            color="gray"
            aria-current={one === state}
            onClick={() => set({ state: one })}
          >
            {t(`state.${one}`)}
          </Button>
        ))}
      </PageHead>
      {list.error !== null ? (
        <PageFailure error={list.error} again={() => void list.refetch()} />
      ) : list.isPending ? (
        <Waiting />
      ) : (
        <>
          <Decided decide={decide} />
          {mayAct && rows.length > 1 && state !== 'released' && (
            <All key={state} rows={rows} state={state} decide={decide} />
          )}
          {rows.length === 0 ? (
            <Nothing icon="done" title={t('noneHeld')} />
          ) : (
            <ul className="plain rows">
              {rows.map((one, index) => (
                <li
                  key={one.heldId}
                  data-at={index === at ? '' : undefined}
                  data-open={opened === one.heldId || undefined}
                >
                  <RowButton
                    aria-expanded={opened === one.heldId}
                    onClick={() => toggle(one.heldId)}
                  >
                    {nameOf({ leadId: one.heldId, ...one.lead })}
                  </RowButton>
                  <Time at={one.at} near soft />
                  {mayAct && <Verbs held={one} decide={decide} />}
                  {opened === one.heldId && <Details heldId={one.heldId} />}
                </li>
              ))}
            </ul>
          )}
          <p className="soft keys">{t('heldKeys')}</p>
        </>
      )}
    </>
  );
}

/** Decides on posts, a few at once, and remembers what was done so that it can be undone. */
function useDecide() {
  const refreshed = useRefreshed();
  const [done, setDone] = useState(0);
  const act = useMutation({
    async mutationFn({ verb, ids }: { verb: Verb; ids: readonly string[] }) {
      setDone(0);
      for (let from = 0; from < ids.length; from += AT_ONCE) {
        await Promise.all(ids.slice(from, from + AT_ONCE).map((id) => actOn(verb, id)));
        setDone(Math.min(from + AT_ONCE, ids.length));
      }
    },
    onSettled: refreshed,
  });
  return { ...act, done };
}
type Decide = ReturnType<typeof useDecide>;

function Verbs({ held: { heldId, state }, decide }: { held: Held; decide: Decide }) {
  const t = useTranslations('inbox');
  const button = (verb: Verb) => (
    <Button
      variant="default"
      disabled={decide.isPending}
      onClick={() => decide.mutate({ verb, ids: [heldId] })}
    >
      {t(`verb.${verb}`)}
    </Button>
  );
  return (
    <Group gap={6} wrap="nowrap">
      {state !== 'released' && button('release')}
      {state === 'held' && button('discard')}
      {state === 'discarded' && button('restore')}
    </Group>
  );
}

/** All that are listed at once: what would be done is said, and asked for a second time. */
function All({
  rows,
  state,
  decide,
}: {
  rows: readonly Held[];
  state: 'held' | 'discarded';
  decide: Decide;
}) {
  const t = useTranslations('inbox');
  const [verb, setVerb] = useState<Verb | null>(null);
  const ids = rows.map(({ heldId }) => heldId);
  const verbs: Verb[] = state === 'held' ? ['release', 'discard'] : ['release', 'restore'];
  return (
    <div className="bar">
      {verb === null ? (
        verbs.map((one) => (
          <Button
            key={one}
            variant="default"
            disabled={decide.isPending}
            onClick={() => setVerb(one)}
          >
            {t(`verbAll.${one}`, { count: ids.length })}
          </Button>
        ))
      ) : (
        <>
          <Text size="sm" role="status">
            {t(`sure.${verb}`, { count: ids.length })}
          </Text>
          <Button
            onClick={() => {
              decide.mutate({ verb, ids });
              setVerb(null);
            }}
          >
            {t(`verb.${verb}`)}
          </Button>
          <Button variant="default" onClick={() => setVerb(null)}>
            {t('cancel')}
          </Button>
        </>
      )}
    </div>
  );
}

/** How far it is, what it came to, and the way back from what was left out. */
function Decided({ decide }: { decide: Decide }) {
  const t = useTranslations('inbox');
  const { variables, done, isPending, isSuccess, error } = decide;
  if (variables === undefined) return null;
  const { verb, ids } = variables;
  return (
    <div className="bar" role="status">
      <Failure act error={error} />
      {isPending && ids.length > 1 && (
        <Progress w={240} value={(done / ids.length) * 100} aria-label={t('progress')} />
      )}
      {isSuccess && (
        <>
          <Text size="sm">{t(`decided.${verb}`, { count: ids.length })}</Text>
          {verb === 'discard' && (
            <Button variant="default" onClick={() => decide.mutate({ verb: 'restore', ids })}>
              {t('undo')}
            </Button>
          )}
        </>
      )}
    </div>
  );
}

function Details({ heldId }: { heldId: string }) {
  const { data, error } = useGet('/api/held/{heldId}', { path: { heldId } });
  if (error !== null) return <Failure error={error} />;
  if (data === undefined) return <Waiting />;
  return <CodeBlock>{data.submission.body}</CodeBlock>;
}
