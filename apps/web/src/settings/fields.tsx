import { Badge, Menu, Select, Text, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslations } from 'use-intl';
import { type Answer, api, type Body } from '../api.ts';
import { useChange } from '../queries.ts';
import { useFields } from '../lead-filters.tsx';
import { useCode } from '../parts/code.ts';
import { FormModal } from '../parts/form-modal.tsx';
import { Failure, Nothing, Waiting } from '../parts/standing.tsx';
import { Table } from '../parts/table.tsx';
import { SettingsHead } from './settings-head.tsx';
import { linesOf } from '../parts/text.ts';
import { useSession, type Workspace } from '../session.tsx';
import { MoreMenu } from '../parts/more-menu.tsx';
import { fieldsOf } from '../parts/typed.ts';

type Field = Answer<'/api/workspaces/{workspaceId}/fields', 'get'>[number];
type Type = Body<'/api/workspaces/{workspaceId}/fields', 'post'>['type'];

const TYPES = [
  ...(['text', 'number', 'boolean', 'date', 'select', 'multi-select'] as const),
] as const satisfies readonly Type[];
const hasOptions = (type: string): boolean => type.endsWith('select');

/** What a workspace keeps of a lead beside the fields that every lead has. */
export function Fields({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('settings.fields');
  const { may } = useSession();
  const typeText = useCode(({ settings }) => settings.fields.types);
  const fields = useFields(workspace.id);
  const [edited, setEdited] = useState<Field | 'new' | null>(null);
  const [archived, setArchived] = useState<Field | null>(null);
  const acts = may('operator', workspace.id);
  if (fields.error !== null) return <Failure error={fields.error} />;
  if (fields.isPending) return <Waiting />;
  return (
    <>
      <SettingsHead hint={t('hint')} label={t('new')} add={acts ? () => setEdited('new') : null} />
      {fields.data.length === 0 ? (
        <Nothing icon="columns" title={t('none')} />
      ) : (
        <Table inset columns={[t('label'), t('name'), t('type'), t('options')]} acts={t('more')}>
          {fields.data.map((field) => (
            <tr key={field.id}>
              <td>
                {field.label} {field.archived && <Badge color="gray">{t('archived')}</Badge>}
                <span className="under wraps">
                  {[field.name, typeText(field.type), ...field.options].join(' · ')}
                </span>
              </td>
              <td>
                <code>{field.name}</code>
              </td>
              <td>{typeText(field.type)}</td>
              <td>{field.options.join(', ') || <span className="soft">–</span>}</td>
              <td data-keep className="number">
                {acts && (
                  <MoreMenu quiet label={t('moreOf', { name: field.label })}>
                    <Menu.Item onClick={() => setEdited(field)}>{t('rename')}</Menu.Item>
                    {!field.archived && (
                      <Menu.Item color="red" onClick={() => setArchived(field)}>
                        {t('archive')}
                      </Menu.Item>
                    )}
                  </MoreMenu>
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
      {edited !== null && (
        <Edit
          workspace={workspace}
          field={edited === 'new' ? null : edited}
          close={() => setEdited(null)}
        />
      )}
      {archived !== null && <Archive field={archived} close={() => setArchived(null)} />}
    </>
  );
}

/** A field that is made, or has another name. Its type stays. */
function Edit({
  workspace,
  field,
  close,
}: {
  workspace: Workspace;
  field: Field | null;
  close: () => void;
}) {
  const t = useTranslations('settings.fields');
  const [form, setForm] = useState({
    ...{ name: field?.name ?? '', label: field?.label ?? '', options: '' },
  });
  const [type, setType] = useState<Type>('text');
  const save = useChange(
    ['/api/workspaces/{workspaceId}/fields'],
    (): Promise<unknown> => {
      const [name, label] = [form.name.trim(), form.label.trim()];
      const texts = { name, ...(label !== '' && { label }) };
      if (field !== null)
        return api.patch('/api/fields/{fieldId}', { path: { fieldId: field.id }, body: texts });
      const options = hasOptions(type) ? { options: linesOf(form.options) } : {};
      return api.post('/api/workspaces/{workspaceId}/fields', {
        path: { workspaceId: workspace.id },
        body: { ...texts, type, ...options },
      });
    },
    close,
  );
  const { text } = fieldsOf(form, setForm, save.error);
  return (
    <FormModal
      close={close}
      title={t(field === null ? 'new' : 'rename')}
      label={t('save')}
      act={save}
    >
      <TextInput
        label={t('name')}
        description={t('nameHint')}
        placeholder="plano"
        spellCheck={false}
        {...text('name')}
      />
      <TextInput label={t('label')} placeholder="Plano de interesse" {...text('label')} />
      {field === null && (
        <Select
          label={t('type')}
          description={t('typeHint')}
          allowDeselect={false}
          data={TYPES.map((value) => ({ value, label: t(`types.${value}`) }))}
          value={type}
          onChange={(value) => setType(TYPES.find((one) => one === value) ?? 'text')}
        />
      )}
      {field === null && hasOptions(type) && (
        <Textarea
          label={t('options')}
          description={t('optionsHint')}
          autosize
          minRows={3}
          {...text('options')}
        />
      )}
    </FormModal>
  );
}

function Archive({ field, close }: { field: Field; close: () => void }) {
  const t = useTranslations('settings.fields');
  const archive = useChange(
    ['/api/workspaces/{workspaceId}/fields'],
    () => api.post('/api/fields/{fieldId}/archive', { path: { fieldId: field.id } }),
    close,
  );
  return (
    <FormModal close={close} title={t('archive')} act={archive} danger>
      <Text size="sm">{t('archiveHint', { name: field.label })}</Text>
    </FormModal>
  );
}
