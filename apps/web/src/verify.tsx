import { Group, SegmentedControl, Title } from '@mantine/core';
import { useState } from 'react';
import { useTranslations } from 'use-intl';
import page from '../../../docs/deliveries.md?raw';
import { Copy } from './parts/copy.tsx';
import { CodeBlock, Hint } from './parts/styled.tsx';

const NAMES = [
  ['js', 'Node'],
  ['python', 'Python'],
  ['php', 'PHP'],
  ['ruby', 'Ruby'],
  ['bash', 'Shell'],
] as const;

/** The programs of the documentation, which a test runs, by their language. */
const PROGRAMS = new Map(
  [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = '', text = '']) => [
    language,
    text.trimEnd(),
  ]),
);

/** What the receiver of messages checks them with, to copy. */
export default function Verify() {
  const t = useTranslations('endpoint');
  const [language, setLanguage] = useState<string>('js');
  const program = PROGRAMS.get(language) ?? '';
  return (
    <section>
      <Title order={2}>{t('verify')}</Title>
      <Hint my={6}>{t('verifyHint')}</Hint>
      <Group justify="space-between" mb={6} wrap="nowrap">
        <SegmentedControl
          aria-label={t('language')}
          data={NAMES.map(([value, label]) => ({ value, label }))}
          value={language}
          onChange={setLanguage}
        />
        <Copy text={program} />
      </Group>
      <CodeBlock>{program}</CodeBlock>
    </section>
  );
}
