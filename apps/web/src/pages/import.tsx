import {
  Button,
  Checkbox,
  Group,
  NumberInput,
  Select,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useFormatter, useTranslations } from 'use-intl';
import { Link, useSearchParams } from 'wouter';
import { RowTable, Sending, useSending } from '../import-sending.tsx';
import { type Preview, previewFile, type PreviewQuery } from '../importing.ts';
import { linkChoices, useLinks } from '../lead-filters.tsx';
import { useFieldName } from '../parts/code.ts';
import { Icon } from '../parts/icon.tsx';
import { Failure, Nothing, Waiting } from '../parts/standing.tsx';
import type { Workspace } from '../session.tsx';
import { Back, ofWorkspace, PageHead } from '../shell.tsx';
import { TIME_ZONE } from '../texts.tsx';
import { typed, ticked } from '../parts/typed.ts';
import { Hint } from '../parts/styled.tsx';

export default ofWorkspace(ImportPage, 'operator');

function ImportPage({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('import');
  return (
    <>
      <PageHead title={t('title')} before={<Back to="/imports" label={t('back')} />} />
      <div className="page-body">
        <Wizard workspace={workspace} />
      </div>
    </>
  );
}

const STEPS = ['file', 'columns', 'try', 'import'] as const;
type Step = (typeof STEPS)[number];

/** What of the reading a person changed. */
type Changes = Pick<PreviewQuery, 'encoding' | 'delimiter' | 'sheet' | 'timeZone' | 'lenient'> & {
  map: Readonly<Record<string, string>>;
  perSecond: number | string;
};

const UNCHANGED: Changes = { map: {}, perSecond: '', timeZone: TIME_ZONE };

function Wizard({ workspace }: { workspace: Workspace }) {
  const t = useTranslations('import');
  const [params] = useSearchParams();
  const links = useLinks(workspace.id);
  const [step, setStep] = useState<Step>('file');
  const [file, setFile] = useState<File | null>(null);
  const [chosen, setChosen] = useState<string | null>(params.get('link'));
  const [changes, setChanges] = useState(UNCHANGED);
  const { sent, send } = useSending();
  const linkId = chosen ?? links.data?.[0]?.id ?? null;
  const { map, perSecond, ...reading } = changes;
  const query: PreviewQuery = {
    linkId: linkId ?? '',
    ...reading,
    ...(Object.keys(map).length > 0 && {
      map: Object.entries(map)
        .map(([column, target]) => `${column}=${target}`)
        .join(','),
    }),
  };
  const preview = useQuery({
    queryKey: ['import-preview', file?.name, file?.size, file?.lastModified, query],
    enabled: file !== null && linkId !== null,
    queryFn: () => {
      if (file === null) throw new Error('no file');
      return previewFile(file, query);
    },
    placeholderData: (before) => before,
    staleTime: Infinity,
    retry: false,
  });
  if (links.isPending) return <Waiting />;
  if (links.data?.length === 0)
    return (
      <Nothing icon="links" title={t('noLink')}>
        <p>{t('noLinkHint')}</p>
        <Button component={Link} href="/links/new">
          {t('newLink')}
        </Button>
      </Nothing>
    );
  const take = (one: File) => {
    setFile(one);
    setChanges(UNCHANGED);
    setStep('columns');
  };
  const start = (wanted: 'try' | 'import') => {
    if (file === null) return;
    const pace = perSecond === '' ? {} : { perSecond: Number(perSecond) };
    send(file, { ...query, ...pace, dryRun: wanted === 'try' });
    setStep(wanted);
  };
  return (
    <>
      <ol className="steps">
        {STEPS.map((one) => (
          <li key={one} aria-current={one === step ? 'step' : undefined}>
            {t(`step.${one}`)}
          </li>
        ))}
      </ol>
      {step === 'file' && (
        <Stack className="narrow" gap="md">
          <Select
            label={t('link')}
            description={t('linkHint')}
            allowDeselect={false}
            searchable
            data={linkChoices(links.data)}
            value={linkId}
            onChange={setChosen}
          />
          <Drop take={take} />
        </Stack>
      )}
      {step === 'columns' && file !== null && (
        <>
          {preview.error !== null && (
            <>
              <Failure error={preview.error} />
              <Button variant="default" onClick={() => setStep('file')}>
                {t('otherFile')}
              </Button>
            </>
          )}
          {preview.data === undefined && preview.error === null && <Waiting />}
          {preview.data !== undefined && preview.error === null && (
            <Columns
              file={file}
              preview={preview.data}
              changes={changes}
              change={(some) => setChanges({ ...changes, ...some })}
              back={() => setStep('file')}
              next={() => start('try')}
            />
          )}
        </>
      )}
      {(step === 'try' || step === 'import') && preview.data !== undefined && (
        <Sending
          sent={sent}
          dryRun={step === 'try'}
          workspaceId={workspace.id}
          linkId={query.linkId}
          columns={preview.data.columns}
          again={() => start(step)}
          back={() => setStep('columns')}
          next={() => start('import')}
        />
      )}
    </>
  );
}

/** Where a file is dropped, or chosen by who cannot drop one. */
function Drop({ take }: { take: (file: File) => void }) {
  const t = useTranslations('import');
  const [over, setOver] = useState(false);
  return (
    <label
      className="drop card"
      data-over={over ? '' : undefined}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        const [file] = event.dataTransfer.files;
        if (file !== undefined) take(file);
      }}
    >
      <Icon name="file" size={28} />
      <Text fw={600}>{t('drop')}</Text>
      <Hint>{t('dropHint')}</Hint>
      <input
        type="file"
        aria-label={t('file')}
        onChange={({ currentTarget: { files } }) => {
          const file = files?.[0];
          if (file !== undefined) take(file);
        }}
      />
    </label>
  );
}

const ENCODINGS = ['utf-8', 'windows-1252', 'iso-8859-1', 'utf-16le'];
const DELIMITERS = [',', ';', '\t', '|'];

/** What a target is called: as the pages call the field, else as the API does. */
function useTargetName(): (target: string, label: string | null) => string {
  const t = useTranslations('import');
  const nameOfField = useFieldName();
  const own = new Map([
    ['time', t('timeTarget')],
    ['externalId', t('externalId')],
  ]);
  return (target, label) => label ?? own.get(target) ?? nameOfField(target);
}

/** How the file is read, and where its columns go: what was recognised can be changed. */
function Columns({
  file,
  preview,
  changes,
  change,
  back,
  next,
}: {
  file: File;
  preview: Preview;
  changes: Changes;
  change: (some: Partial<Changes>) => void;
  back: () => void;
  next: () => void;
}) {
  const t = useTranslations('import');
  const format = useFormatter();
  const nameOf = useTargetName();
  const targets = [
    { value: '-', label: t('ignore') },
    ...preview.targets.map(({ target, label }) => ({
      value: target,
      label: nameOf(target, label),
    })),
  ];
  const goes = preview.columns.filter(({ target }) => target !== '-').length;
  return (
    <Stack gap="md">
      <Group gap="xs" align="flex-end">
        <div className="file-name card">
          <Icon name="file" />
          <span>
            <b>{file.name}</b>
            <span className="soft">
              {' '}
              {format.number(file.size / 1_024, { maximumFractionDigits: 0 })} KB ·{' '}
              {preview.sheet === null ? preview.format.toUpperCase() : 'Excel'}
            </span>
          </span>
          <Button variant="subtle" onClick={back}>
            {t('otherFile')}
          </Button>
        </div>
        {preview.encoding !== null && (
          <Select
            label={t('encoding')}
            w={150}
            allowDeselect={false}
            data={[...new Set([preview.encoding, ...ENCODINGS])]}
            value={preview.encoding}
            onChange={(encoding) => encoding !== null && change({ encoding })}
          />
        )}
        {preview.delimiter !== null && (
          <Select
            label={t('delimiter')}
            w={130}
            allowDeselect={false}
            data={[...new Set([preview.delimiter, ...DELIMITERS])].map((value) => ({
              value,
              label: value === '\t' ? t('tab') : value,
            }))}
            value={preview.delimiter}
            onChange={(delimiter) => delimiter !== null && change({ delimiter })}
          />
        )}
        {preview.sheet !== null && (
          <Select
            label={t('sheet')}
            w={180}
            allowDeselect={false}
            data={preview.sheet.all}
            value={preview.sheet.name}
            onChange={(sheet) => sheet !== null && change({ sheet, map: {} })}
          />
        )}
        {preview.times !== null && (
          <TextInput
            label={t('zone')}
            w={180}
            {...typed(changes.timeZone ?? '', (timeZone) => change({ timeZone }))}
          />
        )}
      </Group>
      {[
        ...preview.dates,
        ...(preview.times === null ? [] : [{ column: '', ...preview.times }]),
      ].map(({ column, order }) => (
        <Hint key={column}>
          {t(order === 'day-first' ? 'dayFirst' : 'monthFirst', {
            column: column || t('timeTarget'),
          })}
        </Hint>
      ))}
      <Text size="sm" role="status">
        {t('recognised', { goes, all: preview.columns.length })}
      </Text>
      <RowTable
        columns={preview.columns}
        rows={preview.rows}
        head={(column) => (
          <Select
            aria-label={t('goesTo', { column: column.name })}
            searchable
            allowDeselect={false}
            w={168}
            data={
              targets.some(({ value }) => value === column.target)
                ? targets
                : [...targets, { value: column.target, label: column.target }]
            }
            value={column.target}
            onChange={(target) =>
              target !== null && change({ map: { ...changes.map, [column.name]: target } })
            }
          />
        )}
      />
      <Group gap="lg">
        <Checkbox
          label={t('lenient')}
          {...ticked(changes.lenient ?? false, (lenient) => change({ lenient }))}
        />
        <Group gap={8}>
          <Text size="sm" id="per-second">
            {t('perSecond')}
          </Text>
          <NumberInput
            aria-labelledby="per-second"
            w={90}
            min={1}
            placeholder={t('noLimit')}
            value={changes.perSecond}
            onChange={(perSecond) => change({ perSecond })}
          />
        </Group>
      </Group>
      <Group justify="flex-end">
        <Button variant="default" onClick={back}>
          {t('previous')}
        </Button>
        <Button onClick={next} disabled={goes === 0}>
          {t('toTry')}
        </Button>
      </Group>
    </Stack>
  );
}
