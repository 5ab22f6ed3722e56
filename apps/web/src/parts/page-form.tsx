import { Button, Group, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslations } from 'use-intl';
import { Link } from 'wouter';
import { Failure } from './standing.tsx';
import { Form } from './styled.tsx';

/** A form on a page: its fields, what was wrong, whether it was done, and the button that sends it. */
export function PageForm({
  act: { mutate, error, isPending, isSuccess },
  label,
  done,
  cancel,
  disabled = false,
  children,
}: {
  act: { mutate: () => void; error: Error | null; isPending: boolean; isSuccess: boolean };
  /** Of the button; without: Save. */
  label?: string;
  /** Said once it was done; without: Saved. */
  done?: string;
  /** Where one goes who does not send it, and who does: the page does not stay. */
  cancel?: string;
  disabled?: boolean;
  children: ReactNode;
}) {
  const t = useTranslations('standing');
  return (
    <Form send={mutate}>
      <fieldset className="bare narrow" disabled={disabled}>
        {children}
        <Failure act error={error} />
        <Group justify="flex-end" mt="md">
          {isSuccess && cancel === undefined && (
            <Text size="sm" c="var(--good)" role="status">
              {done ?? t('saved')}
            </Text>
          )}
          {cancel !== undefined && (
            <Button component={Link} href={cancel} variant="default">
              {t('cancel')}
            </Button>
          )}
          <Button type="submit" loading={isPending}>
            {label ?? t('save')}
          </Button>
        </Group>
      </fieldset>
    </Form>
  );
}
