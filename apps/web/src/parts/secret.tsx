import { Alert, Code, Group, Text } from '@mantine/core';
import { useTranslations } from 'use-intl';
import { Copy } from './copy.tsx';
import { Icon } from './icon.tsx';

/** What is shown this once and is not known afterwards. */
export function Secret({ title, text, hint }: { title: string; text: string; hint: string }) {
  const t = useTranslations('standing');
  return (
    <Alert color="pine" variant="light" title={title} icon={<Icon name="key" />} role="status">
      <Group gap={6} wrap="nowrap" my={4}>
        <Code className="wrap" fz="sm">
          {text}
        </Code>
        <Copy text={text} />
      </Group>
      <Text size="sm">
        {t('once')} {hint}
      </Text>
    </Alert>
  );
}
