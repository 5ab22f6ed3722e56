import { Button, Group, Popover, SegmentedControl, Select, Stack, TextInput } from '@mantine/core';
import { useSessionStorage } from '@mantine/hooks';
import { useFormatter, useMessages, useTranslations } from 'use-intl';
import { useSearchParams } from 'wouter';
import { useAddress } from './address.ts';
import { useGet } from './queries.ts';
import { unaddressedKey } from './asked.ts';
import { filterOf, PERIODS } from './lead-filter.ts';
import { useCode } from './parts/code.ts';
import { Icon } from './parts/icon.tsx';
import { useSession, type Workspace } from './session.tsx';

/** The capture links of a workspace. */
export const useLinks = (workspaceId: string) => useGet('/api/links', { query: { workspaceId } });

/** A link as people know it; one without a label by the beginning of its id. */
export const linkName = ({ id, label }: { id: string; label: string }): string =>
  label || id.slice(0, 8);

/** Links to choose from, for a menu. */
export const linkChoices = (links: readonly { id: string; label: string }[] = []) =>
  links.map((link) => ({ value: link.id, label: linkName(link) }));

/** The custom fields of a workspace. */
export const useFields = (workspaceId: string) =>
  useGet('/api/workspaces/{workspaceId}/fields', { path: { workspaceId } });

/**
 * A text that names a person, as long as the tab is open. It stands in no address: that is kept by
 * browsers and sent on.
 */
export const useUnaddressed = (name: 'search' | 'value', workspaceId: string) =>
  useSessionStorage({
    key: unaddressedKey(name, workspaceId),
    defaultValue: '',
    getInitialValueInEffect: false,
  });

/** The filter of the address, and the value that its custom field has to have. */
export function useLeadFilter(workspaceId: string) {
  const [params] = useSearchParams();
  const [value] = useUnaddressed('value', workspaceId);
  return filterOf(params, value);
}

const UTM = ['utmSource', 'utmMedium', 'utmCampaign'] as const;
const PRESENCE = ['telephone', 'email'] as const;

/** The filters that the address holds, each with what takes it out. */
export function useFilterChips(workspace: Workspace) {
  const t = useTranslations('filter');
  const format = useFormatter();
  const noteText = useCode(({ note }) => note);
  const { params, set } = useAddress();
  const [value] = useUnaddressed('value', workspace.id);
  const links = useLinks(workspace.id);
  const fields = useFields(workspace.id);
  const chips: { name: string; text: string; remove: () => void }[] = [];
  const add = (name: string, text: string) =>
    chips.push({ name, text, remove: () => set({ [name]: null }) });
  const day = (text: string) =>
    format.dateTime(new Date(`${text}T00:00`), { day: 'numeric', month: 'short' });
  const period = PERIODS.find((one) => one === params.get('period'));
  if (period !== undefined) add('period', t(`period.${period}`));
  const [from, to] = [params.get('from'), params.get('to')];
  if (from) add('from', t('fromDay', { day: day(from) }));
  if (to) add('to', t('toDay', { day: day(to) }));
  const link = params.get('link');
  if (link !== null) {
    const label = links.data?.find(({ id }) => id === link)?.label;
    add('link', t('is', { name: t('link'), value: label || link.slice(0, 8) }));
  }
  for (const name of UTM) {
    const value = params.get(name);
    if (value) add(name, t('is', { name: t(name), value }));
  }
  const came = params.get('came');
  if (came === 'once' || came === 'again') add('came', t(`came.${came}`));
  for (const name of PRESENCE) {
    const value = params.get(name);
    if (value === 'yes' || value === 'no') add(name, t(`${name}.${value}`));
  }
  const note = params.get('note');
  if (note) add('note', t('is', { name: t('note'), value: noteText(note) }));
  const field = params.get('field');
  if (field && value) {
    const label = fields.data?.find(({ id }) => id === field)?.label ?? field.slice(0, 8);
    add('field', t('is', { name: label, value }));
  }
  return chips;
}

/** The button that opens all filters at once. */
export function LeadFilters({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('filter');
  const { may } = useSession();
  const { params, set } = useAddress();
  const [value, setValue] = useUnaddressed('value', workspace.id);
  const links = useLinks(workspace.id);
  const fields = useFields(workspace.id);
  const chosen = (name: string) => params.get(name) ?? '';
  return (
    <Popover position="bottom-start" width={320} shadow="md" trapFocus>
      <Popover.Target>
        <Button variant="default" leftSection={<Icon name="filter" size={14} />}>
          {t('title')}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={t('title')}>
        <Stack gap={10}>
          <SegmentedControl
            aria-label={t('created')}
            fullWidth
            data={[
              { value: '', label: t('period.any') },
              ...PERIODS.map((one) => ({ value: one, label: t(`period.${one}`) })),
            ]}
            value={chosen('period')}
            onChange={(period) => set({ period, from: null, to: null })}
          />
          <Group grow gap={8}>
            <TextInput
              type="date"
              label={t('from')}
              value={chosen('from')}
              onChange={({ currentTarget: { value } }) => set({ from: value, period: null })}
            />
            <TextInput
              type="date"
              label={t('to')}
              value={chosen('to')}
              onChange={({ currentTarget: { value } }) => set({ to: value, period: null })}
            />
          </Group>
          <Select
            label={t('link')}
            placeholder={t('any')}
            clearable
            searchable
            comboboxProps={{ withinPortal: false }}
            data={linkChoices(links.data)}
            value={params.get('link')}
            onChange={(link) => set({ link })}
          />
          {UTM.map((name) => (
            <TextInput
              key={name}
              label={t(name)}
              defaultValue={chosen(name)}
              onBlur={({ currentTarget: { value } }) =>
                value !== chosen(name) && set({ [name]: value.trim() })
              }
              onKeyDown={({ key, currentTarget: { value } }) =>
                key === 'Enter' && set({ [name]: value.trim() })
              }
            />
          ))}
          <SegmentedControl
            aria-label={t('cameLabel')}
            fullWidth
            data={[
              { value: '', label: t('any') },
              { value: 'once', label: t('came.once') },
              { value: 'again', label: t('came.again') },
            ]}
            value={chosen('came')}
            onChange={(came) => set({ came })}
          />
          {PRESENCE.map((name) => (
            <SegmentedControl
              key={name}
              aria-label={t(`${name}.label`)}
              fullWidth
              data={[
                { value: '', label: t('any') },
                { value: 'yes', label: t(`${name}.yes`) },
                { value: 'no', label: t(`${name}.no`) },
              ]}
              value={chosen(name)}
              onChange={(value) => set({ [name]: value })}
            />
          ))}
          <Select
            label={t('note')}
            placeholder={t('any')}
            clearable
            searchable
            comboboxProps={{ withinPortal: false }}
            data={Object.entries(useMessages().note).map(([value, label]) => ({ value, label }))}
            value={params.get('note')}
            onChange={(note) => set({ note })}
          />
          {may('operator', workspace.id) && (fields.data ?? []).length > 0 && (
            <Group grow gap={8} align="flex-end">
              <Select
                label={t('field')}
                placeholder={t('any')}
                clearable
                comboboxProps={{ withinPortal: false }}
                data={(fields.data ?? []).map(({ id, label }) => ({ value: id, label }))}
                value={params.get('field')}
                onChange={(field) => set({ field })}
              />
              <TextInput
                label={t('value')}
                value={value}
                onChange={({ currentTarget }) => setValue(currentTarget.value)}
              />
            </Group>
          )}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
