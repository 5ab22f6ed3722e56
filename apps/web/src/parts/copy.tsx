import { ActionIcon, CopyButton, Tooltip } from '@mantine/core';
import { useTranslations } from 'use-intl';
import { Icon } from './icon.tsx';

/** Puts a text where one can paste it from. */
export function Copy({ text }: { text: string }) {
  const t = useTranslations('standing');
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Tooltip label={t(copied ? 'copied' : 'copy')}>
          <ActionIcon
            variant="subtle"
            color={copied ? 'pine' : 'gray'}
            size="sm"
            onClick={copy}
            aria-label={t(copied ? 'copied' : 'copy')}
          >
            <Icon name={copied ? 'done' : 'copy'} size={14} />
          </ActionIcon>
        </Tooltip>
      )}
    </CopyButton>
  );
}
