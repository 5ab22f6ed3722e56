import { Button, Checkbox, Fieldset, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslations } from 'use-intl';
import { useLocation } from 'wouter';
import { api, faultsOf } from '../api.ts';
import { useChange } from '../queries.ts';
import { FormModal } from '../parts/form-modal.tsx';
import { Failure } from '../parts/standing.tsx';
import { linesOf } from '../parts/text.ts';
import { useSession, type Workspace } from '../session.tsx';
import { PageForm } from '../parts/page-form.tsx';
import { typed } from '../parts/typed.ts';
import { AddButton, Hint } from '../parts/styled.tsx';

const CLASSES = ['repeated', 'impossible'] as const satisfies Workspace['dummyClasses'];

/** The zone of a workspace, and which telephones identify nobody there. */
export function WorkspaceSettings({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('settings.workspace');
  const { may } = useSession();
  const [zone, setZone] = useState(workspace.timeZone);
  const [phones, setPhones] = useState(workspace.dummyPhones.join('\n'));
  const [classes, setClasses] = useState<readonly string[]>(workspace.dummyClasses);
  const [making, { open, close }] = useDisclosure();
  const [removing, setRemoving] = useState(false);
  const save = useChange(['/api/workspaces'], () =>
    api.patch('/api/workspaces/{workspaceId}', {
      path: { workspaceId: workspace.id },
      body: {
        timeZone: zone.trim(),
        dummyPhones: linesOf(phones),
        dummyClasses: CLASSES.filter((one) => classes.includes(one)),
      },
    }),
  );
  const fault = faultsOf(save.error);
  return (
    <>
      <PageForm
        act={save}
        label={t('save')}
        done={t('saved')}
        disabled={!may('operator', workspace.id)}
      >
        <Stack gap="md">
          <TextInput
            label={t('zone')}
            description={t('zoneHint')}
            placeholder="America/Sao_Paulo"
            spellCheck={false}
            error={fault('/timeZone')}
            {...typed(zone, setZone)}
          />
          <Fieldset legend={t('phones')} className="fields">
            <Hint>{t('phonesHint')}</Hint>
            <Checkbox.Group
              aria-label={t('classes')}
              value={[...classes]}
              onChange={(chosen) => setClasses(chosen)}
            >
              <Stack gap={8}>
                {CLASSES.map((one) => (
                  <Checkbox key={one} value={one} label={t(`class.${one}`)} />
                ))}
              </Stack>
            </Checkbox.Group>
            <Textarea
              label={t('list')}
              description={t('listHint')}
              autosize
              minRows={2}
              maxRows={10}
              error={fault('/dummyPhones')}
              {...typed(phones, setPhones)}
            />
          </Fieldset>
        </Stack>
      </PageForm>
      {may('administrator') && (
        <AddButton mt="xl" variant="default" onClick={open}>
          {t('new')}
        </AddButton>
      )}
      {may('administrator', workspace.id) && (
        <Button mt="xl" ml="xs" variant="subtle" color="red" onClick={() => setRemoving(true)}>
          {t('remove')}
        </Button>
      )}
      {making && <NewWorkspace close={close} />}
      {removing && <RemoveWorkspace workspace={workspace} close={() => setRemoving(false)} />}
    </>
  );
}

/** What would go with it is said first, and its name is asked for. */
function RemoveWorkspace({ workspace, close }: { workspace: Workspace; close: () => void }) {
  const t = useTranslations('settings.workspace');
  const [, go] = useLocation();
  const [confirm, setConfirm] = useState('');
  const removal = (body: { confirm: string } | { dryRun: true }) => {
    const path = { workspaceId: workspace.id };
    return api.post('/api/workspaces/{workspaceId}/removal', { path, body });
  };
  const preview = useQuery({
    queryKey: ['removal', workspace.id],
    queryFn: () => removal({ dryRun: true }),
  });
  const remove = useChange(
    ['/api/workspaces'],
    () => removal({ confirm }),
    () => go('/'),
  );
  return (
    <FormModal
      danger
      close={close}
      title={t('removeTitle', { name: workspace.name })}
      label={t('remove')}
      act={remove}
      disabled={confirm !== workspace.name}
    >
      <Failure error={preview.error} />
      <Text size="sm" role="status">
        {preview.data === undefined ? t('removeCounts') : t('removeHint', preview.data.counts)}
      </Text>
      <TextInput
        label={t('confirm', { name: workspace.name })}
        autoComplete="off"
        {...typed(confirm, setConfirm)}
      />
    </FormModal>
  );
}

function NewWorkspace({ close }: { close: () => void }) {
  const t = useTranslations('settings.workspace');
  const { look } = useSession();
  const [name, setName] = useState('');
  const [country, setCountry] = useState('BR');
  const create = useChange(
    ['/api/workspaces'],
    () => api.post('/api/workspaces', { body: { name, country } }),
    ({ id }) => {
      look(id);
      close();
    },
  );
  const fault = faultsOf(create.error);
  return (
    <FormModal close={close} title={t('new')} label={t('create')} act={create}>
      <TextInput label={t('name')} error={fault('/name')} {...typed(name, setName)} />
      <TextInput
        label={t('country')}
        description={t('countryHint')}
        w={160}
        error={fault('/country')}
        {...typed(country, setCountry)}
      />
    </FormModal>
  );
}
