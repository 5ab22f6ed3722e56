import { Alert, Button, Center, Loader, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslations } from 'use-intl';
import { Icon, type IconName } from './icon.tsx';
import { Hint } from './styled.tsx';

/** Something is on its way. */
export function Waiting() {
  const t = useTranslations('standing');
  return (
    <Center mih={160}>
      <Loader size="sm" role="status" aria-label={t('loading')} />
    </Center>
  );
}

interface Failed {
  error: unknown;
  /** Whether something was to be done, and not to be had. */
  act?: boolean;
  again?: () => void;
}

/** What could not be had or done, and the way to try again; nothing without an error. */
export function Failure({ error, act = false, again }: Failed) {
  const t = useTranslations('standing');
  if (error === null) return null;
  return (
    <Alert color="red" variant="light" role="alert" title={t(act ? 'notDone' : 'failed')} my="md">
      <Text size="sm">{error instanceof Error ? error.message : t('unknown')}</Text>
      {again !== undefined && (
        <Button mt="sm" variant="default" onClick={again}>
          {t('again')}
        </Button>
      )}
    </Alert>
  );
}

/** The same in place of a page. */
export const PageFailure = (props: Failed) =>
  props.error !== null && (
    <div className="page-body">
      <Failure {...props} />
    </div>
  );

/** A list without anything in it says what would be there, and how it comes. */
export function Nothing({
  icon,
  title,
  children,
}: {
  icon: IconName;
  title: string;
  children?: ReactNode;
}) {
  return (
    <Center mih={240} px="md">
      <Stack align="center" gap={6} maw={420} ta="center">
        <Icon name={icon} size={28} />
        <Text fw={600}>{title}</Text>
        <Hint component="div">{children}</Hint>
      </Stack>
    </Center>
  );
}

/** What the reader has no role for. */
export function NotYours() {
  const t = useTranslations('standing');
  return (
    <Nothing icon="consent" title={t('notYours')}>
      {t('notYoursHint')}
    </Nothing>
  );
}
