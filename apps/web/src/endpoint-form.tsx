import {
  Checkbox,
  Fieldset,
  Group,
  MultiSelect,
  NumberInput,
  PasswordInput,
  SegmentedControl,
  Stack,
  TextInput,
} from '@mantine/core';
import { useTranslations } from 'use-intl';
import type { Answer, Body } from './api.ts';
import { linkChoices, useLinks } from './lead-filters.tsx';
import { CodeInput } from './parts/form-code.tsx';
import { linesOf } from './parts/text.ts';
import { fieldsOf, ticked, typed } from './parts/typed.ts';

export type Endpoint = Answer<'/api/endpoints/{endpointId}', 'get'>;
type Creation = Body<'/api/workspaces/{workspaceId}/endpoints', 'post'>;
type Event = NonNullable<Creation['events']>[number];

const EVENTS = [
  'lead.created',
  'lead.updated',
  'lead.merged',
  'lead.erased',
  'alarm.opened',
  'alarm.closed',
] as const satisfies readonly Event[];

/** An endpoint as it is typed; without one, what a form begins with. */
export const formOf = (endpoint: Endpoint | null) => ({
  kind: endpoint?.kind === 'hubspot' ? ('hubspot' as const) : ('webhook' as const),
  name: endpoint?.name ?? '',
  url: endpoint?.url ?? '',
  token: '',
  events: [...(endpoint?.events ?? EVENTS.filter((event) => event.startsWith('lead.')))],
  linkIds: endpoint?.linkIds ?? [],
  perSecond: endpoint?.perSecond ?? '',
  concurrency: endpoint?.concurrency ?? '8',
  /** Null: they stay. One a line: `Name: value`. */
  headers: endpoint === null || endpoint.headers.length === 0 ? '' : null,
  /** One a line: `property = $.query`. */
  rules: Object.entries(endpoint?.mapping ?? {})
    .map(([name, queries]) => `${name} = ${queries.join(', ')}`)
    .join('\n'),
});
type EndpointForm = ReturnType<typeof formOf>;

const pairsOf = (text: string, between: string): [string, string][] =>
  linesOf(text).map((line) => {
    const [name = '', ...rest] = line.split(between);
    return [name.trim(), rest.join(between).trim()];
  });

/** What the API is told of it. */
export function settingsOf(form: EndpointForm): Omit<Creation, 'kind'> {
  const rules = pairsOf(form.rules, '=');
  return {
    name: form.name.trim(),
    ...(form.url.trim() !== '' && { url: form.url.trim() }),
    events: EVENTS.filter((event) => form.events.includes(event)),
    linkIds: form.linkIds,
    perSecond: form.perSecond === '' ? null : Number(form.perSecond),
    concurrency: Number(form.concurrency),
    ...(form.headers !== null && { headers: Object.fromEntries(pairsOf(form.headers, ':')) }),
    ...(form.kind === 'hubspot' && {
      ...(form.token !== '' && { token: form.token }),
      mapping:
        rules.length === 0
          ? null
          : Object.fromEntries(
              rules.map(([name, queries]) => [name, queries.split(',').map((one) => one.trim())]),
            ),
    }),
  };
}

/** The fields of the form, each with what the API says of it. `known`: null where it is made now. */
export function EndpointFields({
  workspaceId,
  form,
  set,
  error,
  known,
}: {
  workspaceId: string;
  form: EndpointForm;
  set: (form: EndpointForm) => void;
  error: Error | null;
  known: Endpoint | null;
}) {
  const t = useTranslations('endpoint');
  const links = useLinks(workspaceId);
  const { fault, text, value } = fieldsOf(form, set, error);
  const isHubspot = form.kind === 'hubspot';
  return (
    <Stack gap="md">
      {known === null && (
        <SegmentedControl
          aria-label={t('kind')}
          data={[
            { value: 'webhook', label: t('webhook') },
            { value: 'hubspot', label: 'HubSpot' },
          ]}
          value={form.kind}
          onChange={(kind) =>
            set({ ...form, kind: kind === 'hubspot' ? kind : 'webhook', url: '' })
          }
        />
      )}
      <TextInput label={t('name')} placeholder={t('nameExample')} {...text('name')} />
      {!isHubspot && (
        <TextInput
          label={t('url')}
          description={t('urlHint')}
          placeholder="https://crm.example.com/hooks/leads"
          spellCheck={false}
          inputMode="url"
          {...text('url')}
        />
      )}
      {isHubspot && (
        <PasswordInput
          label={t('token')}
          description={t('tokenHint')}
          placeholder={known === null ? '' : t('tokenStays')}
          autoComplete="off"
          visibilityToggleButtonProps={{ tabIndex: 0, 'aria-label': t('showToken') }}
          {...text('token')}
        />
      )}
      <Fieldset legend={t('what')} className="fields">
        <Checkbox.Group aria-label={t('events')} {...value('events')}>
          <Group gap="md">
            {EVENTS.map((event) => (
              <Checkbox key={event} value={event} label={t(`event.${EVENT_TEXTS[event]}`)} />
            ))}
          </Group>
        </Checkbox.Group>
        <MultiSelect
          label={t('links')}
          description={t('linksHint')}
          placeholder={form.linkIds.length === 0 ? t('anyLink') : ''}
          clearable
          searchable
          data={linkChoices(links.data)}
          {...value('linkIds')}
        />
      </Fieldset>
      <Fieldset legend={t('pace')} className="fields">
        <Group grow align="flex-start" gap="sm">
          <NumberInput
            label={t('perSecond')}
            description={t('perSecondHint')}
            min={0.01}
            max={1_000}
            {...value('perSecond')}
          />
          <NumberInput
            label={t('concurrency')}
            description={t('concurrencyHint')}
            min={1}
            max={100}
            {...value('concurrency')}
          />
        </Group>
      </Fieldset>
      {isHubspot && (
        <CodeInput
          label={t('rules')}
          description={t('rulesHint')}
          placeholder={'email = $.email\nlastname = $.name'}
          minRows={2}
          {...text('rules')}
          error={fault('/mapping')}
        />
      )}
      {known !== null && known.headers.length > 0 && (
        <Checkbox
          label={t('replaceHeaders', { names: known.headers.join(', ') })}
          {...ticked(form.headers !== null, (replaced) =>
            set({ ...form, headers: replaced ? '' : null }),
          )}
        />
      )}
      {form.headers !== null && (
        <CodeInput
          label={t('headers')}
          description={t('headersHint')}
          placeholder="authorization: Bearer …"
          minRows={1}
          error={fault('/headers')}
          {...typed(form.headers, (headers) => set({ ...form, headers }))}
        />
      )}
    </Stack>
  );
}

/** Keys of their texts: a dot would lead further into the texts. */
const EVENT_TEXTS = {
  'lead.created': 'created',
  'lead.updated': 'updated',
  'lead.merged': 'merged',
  'lead.erased': 'erased',
  'alarm.opened': 'alarmOpened',
  'alarm.closed': 'alarmClosed',
} as const satisfies Record<(typeof EVENTS)[number], string>;
