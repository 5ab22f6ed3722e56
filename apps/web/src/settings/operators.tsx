import {
  Badge,
  Group,
  Menu,
  PasswordInput,
  type PasswordInputProps,
  Select,
  Text,
  TextInput,
} from '@mantine/core';
import { useState } from 'react';
import { useTranslations } from 'use-intl';
import { type Answer, api } from '../api.ts';
import { useChange, useGet } from '../queries.ts';
import { FormModal } from '../parts/form-modal.tsx';
import { Failure, Waiting } from '../parts/standing.tsx';
import { Table } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { SettingsHead } from './settings-head.tsx';
import { ROLES, type Role, useSession } from '../session.tsx';
import { MoreMenu } from '../parts/more-menu.tsx';
import { fieldsOf } from '../parts/typed.ts';

type Operator = Answer<'/api/operators', 'get'>[number];
type Asked = 'access' | 'password' | 'factor' | 'remove';

/** Who may sign in, and what they may do where. */
export function Operators() {
  const t = useTranslations('settings.operators');
  const { me, workspaces } = useSession();
  const [asked, setAsked] = useState<{ what: Asked; operator: Operator } | 'add' | null>(null);
  const { data, error } = useGet('/api/operators', {});
  if (error !== null) return <Failure error={error} />;
  if (data === undefined) return <Waiting />;
  const nameOf = (id: string) => workspaces.find((one) => one.id === id)?.name ?? id.slice(0, 8);
  const factorOf = ({ hasSecondFactor }: Operator) => t(hasSecondFactor ? 'hasFactor' : 'noFactor');
  const close = () => setAsked(null);
  return (
    <>
      <SettingsHead hint={t('hint')} label={t('add')} add={() => setAsked('add')} />
      <Table inset columns={[t('name'), t('roles'), t('factor'), t('since')]} acts={t('more')}>
        {data.map((operator) => (
          <tr key={operator.id}>
            <td>
              {operator.name} {operator.name === me.name && <Badge color="gray">{t('you')}</Badge>}
              <span className="under wraps">
                {[
                  ...(operator.role === null ? [] : [t(`role.${operator.role}`)]),
                  ...operator.workspaces.map(
                    ({ workspaceId, role }) => `${nameOf(workspaceId)}: ${t(`role.${role}`)}`,
                  ),
                  `${t('factor')}: ${factorOf(operator)}`,
                ].join(' · ')}
              </span>
            </td>
            <td className="wraps">
              {operator.role !== null && <Badge>{t(`role.${operator.role}`)}</Badge>}{' '}
              {operator.workspaces.map(({ workspaceId, role }) => (
                <Badge key={workspaceId} color="blue">
                  {nameOf(workspaceId)}: {t(`role.${role}`)}
                </Badge>
              ))}
            </td>
            <td>{factorOf(operator)}</td>
            <td>
              <Time at={operator.createdAt} />
            </td>
            <td data-keep className="number">
              <MoreMenu quiet label={t('moreOf', { name: operator.name })}>
                <Menu.Item onClick={() => setAsked({ what: 'access', operator })}>
                  {t('access')}
                </Menu.Item>
                <Menu.Item onClick={() => setAsked({ what: 'password', operator })}>
                  {t('newPassword')}
                </Menu.Item>
                {operator.hasSecondFactor && (
                  <Menu.Item onClick={() => setAsked({ what: 'factor', operator })}>
                    {t('dropFactor')}
                  </Menu.Item>
                )}
                {operator.name !== me.name && (
                  <Menu.Item color="red" onClick={() => setAsked({ what: 'remove', operator })}>
                    {t('remove')}
                  </Menu.Item>
                )}
              </MoreMenu>
            </td>
          </tr>
        ))}
      </Table>
      {asked === 'add' && <Add close={close} />}
      {asked !== null && asked !== 'add' && <Change {...asked} close={close} />}
    </>
  );
}

/** What is given: a role, and where it holds. */
export interface Granted {
  role: Role | null;
  workspaceId: string | null;
}

/** The fields of what is given. `none`: whether the role may be none. */
export function RoleFields<F extends Granted>({
  form,
  set,
  none = false,
}: {
  form: F;
  set: (form: F) => void;
  none?: boolean;
}) {
  const t = useTranslations('settings.operators');
  const { workspaces } = useSession();
  return (
    <Group grow gap="sm" align="flex-start">
      <Select
        label={t('roleOf')}
        allowDeselect={false}
        data={[
          ...ROLES.map((value) => ({ value: value, label: t(`role.${value}`) })),
          ...(none ? [{ value: '', label: t('noRole') }] : []),
        ]}
        value={form.role ?? ''}
        onChange={(role) => set({ ...form, role: ROLES.find((one) => one === role) ?? null })}
      />
      <Select
        label={t('where')}
        allowDeselect={false}
        data={[
          { value: '', label: t('everywhere') },
          ...workspaces.map(({ id, name }) => ({ value: id, label: name })),
        ]}
        value={form.workspaceId ?? ''}
        onChange={(workspaceId) => set({ ...form, workspaceId: workspaceId || null })}
      />
    </Group>
  );
}

interface NewOperator extends Granted {
  name: string;
  password: string;
}

function Add({ close }: { close: () => void }) {
  const t = useTranslations('settings.operators');
  const [form, setForm] = useState<NewOperator>({
    ...{ name: '', password: '', role: 'operator', workspaceId: null },
  });
  const { role, workspaceId, ...rest } = form;
  const add = useChange(
    ['/api/operators'],
    () =>
      api.post('/api/operators', {
        body: { ...rest, role: role ?? 'viewer', ...(workspaceId && { workspaceId }) },
      }),
    close,
  );
  const { text } = fieldsOf(form, setForm, add.error);
  return (
    <FormModal close={close} title={t('add')} act={add}>
      <TextInput label={t('name')} autoComplete="off" {...text('name')} />
      <Password label={t('firstPassword')} {...text('password')} />
      <RoleFields form={form} set={setForm} />
    </FormModal>
  );
}

/** A password that is typed: a new one, or the one in use. */
export function Password({ isNew = true, ...field }: PasswordInputProps & { isNew?: boolean }) {
  const t = useTranslations('settings.operators');
  return (
    <PasswordInput
      {...(isNew && { description: t('passwordHint') })}
      autoComplete={isNew ? 'new-password' : 'current-password'}
      visibilityToggleButtonProps={{ tabIndex: 0, 'aria-label': t('showPassword') }}
      {...field}
    />
  );
}

function Change({ what, operator, close }: { what: Asked; operator: Operator; close: () => void }) {
  const t = useTranslations('settings.operators');
  const [form, setForm] = useState<Granted & { password: string }>({
    ...{ role: operator.role, workspaceId: null, password: '' },
  });
  const { role, workspaceId, password } = form;
  const path = { name: operator.name };
  const act = useChange(
    ['/api/operators'],
    async (): Promise<unknown> => {
      if (what === 'access')
        return api.patch('/api/operators/{name}', {
          path,
          body: { role, ...(workspaceId && { workspaceId }) },
        });
      if (what === 'password')
        return api.post('/api/operators/{name}/credentials', { path, body: { password } });
      if (what === 'factor') return api.delete('/api/operators/{name}/second-factor', { path });
      return api.delete('/api/operators/{name}', { path });
    },
    close,
  );
  const { text } = fieldsOf(form, setForm, act.error);
  const titles = {
    access: t('access'),
    password: t('newPassword'),
    factor: t('dropFactor'),
    remove: t('remove'),
  };
  return (
    <FormModal
      close={close}
      title={`${titles[what]}: ${operator.name}`}
      label={titles[what]}
      act={act}
      danger={what === 'remove' || what === 'factor'}
    >
      {what === 'access' && <RoleFields form={form} set={setForm} none />}
      {what === 'password' && <Password label={t('newPassword')} {...text('password')} />}
      {what === 'password' && <Text size="sm">{t('newPasswordHint')}</Text>}
      {what === 'factor' && <Text size="sm">{t('dropFactorHint')}</Text>}
      {what === 'remove' && <Text size="sm">{t('removeHint')}</Text>}
    </FormModal>
  );
}
