import { Button, Checkbox, Fieldset, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslations } from 'use-intl';
import { useLocation } from 'wouter';
import { api } from '../api.ts';
import { useChange } from '../queries.ts';
import { FormModal } from '../parts/form-modal.tsx';
import { Failure } from '../parts/standing.tsx';
import { linesOf } from '../parts/text.ts';
import { useSession, type Workspace } from '../session.tsx';
import { PageForm } from '../parts/page-form.tsx';
import { fieldsOf, typed } from '../parts/typed.ts';
import { AddButton, Hint } from '../parts/styled.tsx';

const CLASSES = ['repeated', 'impossible'] as const satisfies Workspace['dummyClasses'];

/** The zone of a workspace, and which telephones identify nobody there. */
export function WorkspaceSettings({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('settings.workspace');
  const { may } = useSession();
  const [form, setForm] = useState({
    timeZone: workspace.timeZone,
    dummyPhones: workspace.dummyPhones.join('\n'),
    dummyClasses: workspace.dummyClasses.map(String),
  });
  const [making, { open, close }] = useDisclosure();
  const [removing, setRemoving] = useState(false);
  const save = useChange(['/api/workspaces'], () =>
    api.patch('/api/workspaces/{workspaceId}', {
      path: { workspaceId: workspace.id },
      body: {
        timeZone: form.timeZone.trim(),
        dummyPhones: linesOf(form.dummyPhones),
        dummyClasses: CLASSES.filter((one) => form.dummyClasses.includes(one)),
      },
    }),
  );
  const { text, value } = fieldsOf(form, setForm, save.error);
  return (
    <>
      <PageForm act={save} disabled={!may('operator', workspace.id)}>
        <Stack gap="md">
          <TextInput
            label={t('zone')}
            description={t('zoneHint')}
            placeholder="America/Sao_Paulo"
            spellCheck={false}
            {...text('timeZone')}
          />
          <Fieldset legend={t('phones')} className="fields">
            <Hint>{t('phonesHint')}</Hint>
            <Checkbox.Group aria-label={t('classes')} {...value('dummyClasses')}>
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
              {...text('dummyPhones')}
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
  const [form, setForm] = useState({ name: '', country: 'BR' });
  const create = useChange(
    ['/api/workspaces'],
    () => api.post('/api/workspaces', { body: form }),
    ({ id }) => {
      look(id);
      close();
    },
  );
  const { text } = fieldsOf(form, setForm, create.error);
  return (
    <FormModal close={close} title={t('new')} label={t('create')} act={create}>
      <TextInput label={t('name')} {...text('name')} />
      <TextInput label={t('country')} description={t('countryHint')} w={160} {...text('country')} />
    </FormModal>
  );
}
