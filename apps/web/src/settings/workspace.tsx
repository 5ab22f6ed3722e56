import { Button, Checkbox, Fieldset, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslations } from 'use-intl';
import { api, dataOf, faultsOf } from '../api.ts';
import { FormModal } from '../parts/form-modal.tsx';
import { Icon } from '../parts/icon.tsx';
import { useSession, type Workspace } from '../session.tsx';
import { FormEnd } from '../parts/form-end.tsx';

const CLASSES = ['repeated', 'impossible'] as const satisfies Workspace['dummyClasses'];

/** The zone of a workspace, and which telephones identify nobody there. */
export default function WorkspaceSettings({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('settings.workspace');
  const { may } = useSession();
  const queries = useQueryClient();
  const [zone, setZone] = useState(workspace.timeZone);
  const [phones, setPhones] = useState(workspace.dummyPhones.join('\n'));
  const [classes, setClasses] = useState<readonly string[]>(workspace.dummyClasses);
  const [making, { open, close }] = useDisclosure();
  const save = useMutation({
    mutationFn: () =>
      dataOf(
        api.PATCH('/api/workspaces/{workspaceId}', {
          params: { path: { workspaceId: workspace.id } },
          body: {
            timeZone: zone.trim(),
            dummyPhones: phones.split('\n').filter((line) => line.trim() !== ''),
            dummyClasses: CLASSES.filter((one) => classes.includes(one)),
          },
        }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['workspaces'] }),
  });
  const fault = faultsOf(save.error);
  return (
    <form
      className="narrow"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <fieldset className="bare" disabled={!may('operator', workspace.id)}>
        <Stack gap="md">
          <TextInput
            label={t('zone')}
            description={t('zoneHint')}
            placeholder="America/Sao_Paulo"
            spellCheck={false}
            value={zone}
            error={fault('/timeZone')}
            onChange={({ currentTarget: { value } }) => setZone(value)}
          />
          <Fieldset legend={t('phones')} className="fields">
            <Text size="sm" c="var(--soft)">
              {t('phonesHint')}
            </Text>
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
              value={phones}
              error={fault('/dummyPhones')}
              onChange={({ currentTarget: { value } }) => setPhones(value)}
            />
          </Fieldset>
        </Stack>
        <FormEnd act={save} label={t('save')} done={t('saved')} />
      </fieldset>
      {may('administrator') && (
        <Button
          mt="xl"
          variant="default"
          leftSection={<Icon name="plus" size={14} />}
          onClick={open}
        >
          {t('new')}
        </Button>
      )}
      {making && <NewWorkspace close={close} />}
    </form>
  );
}

function NewWorkspace({ close }: { close: () => void }) {
  const t = useTranslations('settings.workspace');
  const { look } = useSession();
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [country, setCountry] = useState('BR');
  const create = useMutation({
    mutationFn: () => dataOf(api.POST('/api/workspaces', { body: { name, country } })),
    onSuccess: async ({ id }) => {
      await queries.invalidateQueries({ queryKey: ['workspaces'] });
      look(id);
      close();
    },
  });
  const fault = faultsOf(create.error);
  return (
    <FormModal opened close={close} title={t('new')} label={t('create')} act={create}>
      <TextInput
        label={t('name')}
        value={name}
        error={fault('/name')}
        onChange={({ currentTarget: { value } }) => setName(value)}
      />
      <TextInput
        label={t('country')}
        description={t('countryHint')}
        w={160}
        value={country}
        error={fault('/country')}
        onChange={({ currentTarget: { value } }) => setCountry(value)}
      />
    </FormModal>
  );
}
