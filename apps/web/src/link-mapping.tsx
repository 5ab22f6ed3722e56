import { ActionIcon, Button, Group, Stack, Text, Textarea, TextInput, Title } from '@mantine/core';
import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslations } from 'use-intl';
import { api, faultsOf } from './api.ts';
import { useChange, useGet } from './queries.ts';
import type { Link } from './link-form.tsx';
import { useCode } from './parts/code.ts';
import { Icon } from './parts/icon.tsx';
import { Failure } from './parts/standing.tsx';
import { linesOf, textOf } from './parts/text.ts';
import { useSession } from './session.tsx';
import { typed } from './parts/typed.ts';
import { CodeInput } from './parts/form-code.tsx';
import { AddButton, CodeBlock, Form, Hint } from './parts/styled.tsx';

type LinkMapping = NonNullable<Link['mapping']>;
type Query = NonNullable<LinkMapping['rules'][string]>[number];

interface Rule {
  field: string;
  /** The first query that finds something counts: one a line; one that changes what it finds as JSON. */
  queries: string;
}

const rulesOf = (link: Link): Rule[] => rulesFrom(link.mapping?.rules ?? {});

const rulesFrom = (rules: LinkMapping['rules']): Rule[] =>
  Object.entries(rules).map(([field, queries]) => ({
    field,
    queries: queries
      .map((query) => (typeof query === 'string' ? query : JSON.stringify(query)))
      .join('\n'),
  }));

/** What the API is to check: a line that looks like JSON and is none is a query that is none. */
function queryOf(line: string): Query {
  try {
    return line.startsWith('{') ? (JSON.parse(line) as Query) : line;
  } catch {
    return line;
  }
}

/** The mapping that the rules make; what stands beside them stays. Null without a rule. */
function mappingOf(rules: readonly Rule[], list: string, link: Link): LinkMapping | null {
  const named = rules.filter(({ field, queries }) => field.trim() && linesOf(queries).length > 0);
  if (named.length === 0) return null;
  const { rows: _, ...mapping } = { preset: null, ...link.mapping };
  return {
    ...mapping,
    ...(list.trim() !== '' && { rows: list.trim() }),
    rules: Object.fromEntries(
      named.map(({ field, queries }) => [field.trim(), linesOf(queries).map(queryOf)]),
    ),
  };
}

/** How the link reads a sender that has its own names, beside a body that it sent. */
export function Mapping({ link }: { link: Link }) {
  const t = useTranslations('mapping');
  const { may } = useSession();
  const [rules, setRules] = useState(rulesOf(link));
  const [list, setList] = useState(link.mapping?.rows ?? '');
  const [read, setRead] = useState<object | null>(null);
  const acts = may('operator', link.workspaceId);
  const mapping = mappingOf(rules, list, link);
  const save = useChange(
    ['/api/links'],
    () => api.patch('/api/links/{linkId}', { path: { linkId: link.id }, body: { mapping } }),
    (saved) => {
      setRules(rulesOf(saved));
      setList(saved.mapping?.rows ?? '');
    },
  );
  const propose = useMutation({
    mutationFn: () => api.get('/api/links/{linkId}/suggestion', { path: { linkId: link.id } }),
    onSuccess: (proposed) => setRules(rulesFrom(proposed.rules)),
  });
  const change = (at: number, changes: Partial<Rule>) =>
    setRules(rules.map((rule, index) => (index === at ? { ...rule, ...changes } : rule)));
  const fault = faultsOf(save.error);
  const isListAlone = mapping === null && list.trim() !== '';
  return (
    <div className="lead">
      <Form send={save.mutate}>
        <fieldset className="bare" disabled={!acts}>
          <Hint mb="sm">{t('hint')}</Hint>
          <Stack gap={6}>
            {rules.map((rule, index) => (
              <Group key={index} gap="2px 6px" align="flex-start">
                <TextInput
                  aria-label={t('field')}
                  placeholder="email"
                  spellCheck={false}
                  w="38%"
                  {...typed(rule.field, (field) => change(index, { field }))}
                />
                <Textarea
                  aria-label={t('query')}
                  autosize
                  minRows={1}
                  placeholder="$.answers.email"
                  spellCheck={false}
                  flex="1 1 40%"
                  error={fault(`/mapping/rules/${rule.field}`)}
                  {...typed(rule.queries, (queries) => change(index, { queries }))}
                />
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  size="md"
                  aria-label={t('remove', { field: rule.field })}
                  onClick={() => setRules(rules.filter((_, at) => at !== index))}
                >
                  <Icon name="erase" size={14} />
                </ActionIcon>
                {read !== null && <Reads value={valueAt(read, rule.field)} />}
              </Group>
            ))}
            <TextInput
              label={t('rows')}
              description={t('rowsHint')}
              placeholder="$.leads"
              spellCheck={false}
              error={isListAlone ? t('rowsAlone') : fault('/mapping/rows')}
              {...typed(list, setList)}
            />
          </Stack>
          <Failure act error={save.error ?? propose.error} />
          {acts && (
            <Group mt="sm">
              <AddButton
                variant="default"
                onClick={() => setRules([...rules, { field: '', queries: '' }])}
              >
                {t('add')}
              </AddButton>
              <Button
                variant="default"
                loading={propose.isPending}
                onClick={() => propose.mutate()}
              >
                {t('propose')}
              </Button>
              <Button type="submit" loading={save.isPending} disabled={isListAlone}>
                {t('save')}
              </Button>
              {propose.isSuccess && (
                <Text size="sm" role="status">
                  {t('proposed', { bodies: propose.data.bodies })}
                </Text>
              )}
              {save.isSuccess && (
                <Text size="sm" c="var(--good)" role="status">
                  {t('saved')}
                </Text>
              )}
            </Group>
          )}
        </fieldset>
      </Form>
      <Try link={link} mapping={mapping} tell={setRead} />
    </div>
  );
}

/** What a rule reads of the body that was tried last. */
function Reads({ value }: { value: unknown }) {
  const t = useTranslations('mapping');
  return (
    <Text
      size="xs"
      c={value === undefined ? 'var(--warn)' : 'var(--soft)'}
      className="wrap"
      w="100%"
    >
      {value === undefined ? t('readsNothing') : t('reads', { value: textOf(value) })}
    </Text>
  );
}

const valueAt = (lead: object, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>(
      (at, name) => (typeof at === 'object' && at !== null ? Reflect.get(at, name) : undefined),
      lead,
    );

/** So many of the newest bodies can be tried. */
const BODIES = 20;

/** What the rules read of one of the newest bodies, or of another one, before they are saved. */
function Try({
  link,
  mapping,
  tell,
}: {
  link: Link;
  mapping: LinkMapping | null;
  tell: (lead: object) => void;
}) {
  const t = useTranslations('mapping');
  const noteText = useCode(({ note }) => note);
  const [written, setWritten] = useState<string | null>(null);
  const [at, setAt] = useState(0);
  const { data: posts = [] } = useGet('/api/submissions', {
    query: { linkId: link.id, limit: BODIES },
  });
  const submissionId = posts[at]?.submissionId;
  const newest = useQuery({
    queryKey: ['body', submissionId],
    queryFn: async () => {
      const path = { submissionId: submissionId ?? '' };
      const { body } = await api.get('/api/submissions/{submissionId}', { path });
      return pretty(body);
    },
    enabled: submissionId !== undefined,
    placeholderData: keepPreviousData,
  });
  const body = written ?? newest.data ?? '';
  const read = useMutation({
    mutationFn: () =>
      api.post('/api/links/{linkId}/try', {
        path: { linkId: link.id },
        body: { body, mapping },
      }),
    onSuccess: ({ lead }) => tell(lead),
  });
  return (
    <section>
      <CodeInput
        label={t('body')}
        description={t('bodyHint')}
        minRows={4}
        maxRows={16}
        {...typed(body, setWritten)}
      />
      <Group my="sm" gap="xs">
        <Button
          variant="default"
          disabled={body.trim() === ''}
          loading={read.isPending}
          onClick={() => read.mutate()}
        >
          {t('try')}
        </Button>
        {posts.length > 1 && (
          <Button
            variant="subtle"
            color="gray"
            onClick={() => {
              setWritten(null);
              setAt((at + 1) % posts.length);
            }}
          >
            {t('another')}
          </Button>
        )}
      </Group>
      <Failure act error={read.error} />
      {read.data !== undefined && (
        <div role="status">
          <Title order={2} mb={6}>
            {t('read')}
          </Title>
          <CodeBlock>{JSON.stringify(read.data.lead, null, 2)}</CodeBlock>
          <ul className="notes">
            {read.data.notes.map(({ field, code }) => (
              <li key={`${field} ${code}`}>
                <code>{field}</code> {noteText(code)}
              </li>
            ))}
          </ul>
        </div>
      )}
    </section>
  );
}

function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
