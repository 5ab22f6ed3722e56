import { Button, Group, Modal, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslations } from 'use-intl';
import { Failure } from './standing.tsx';
import { Form } from './styled.tsx';

/** A question in front of the page, with what was wrong with the answer. */
export function FormModal({
  title,
  label = title,
  close,
  act,
  danger = false,
  disabled = false,
  done = false,
  children,
}: {
  title: string;
  /** Of the button that does it. */
  label?: string;
  close: () => void;
  act: { mutate: () => void; isPending: boolean; error: Error | null };
  /** Whether it cannot be undone. */
  danger?: boolean;
  disabled?: boolean;
  /** Whether nothing is left to be asked. */
  done?: boolean;
  children: ReactNode;
}) {
  const t = useTranslations('standing');
  return (
    <Modal opened onClose={close} title={title} closeButtonProps={{ 'aria-label': t('close') }}>
      <Form send={act.mutate}>
        <Stack gap="sm">
          {children}
          <Failure act error={act.error} />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t(done ? 'close' : 'cancel')}
            </Button>
            {!done && (
              <Button
                type="submit"
                loading={act.isPending}
                disabled={disabled}
                {...(danger && { color: 'red' })}
              >
                {label}
              </Button>
            )}
          </Group>
        </Stack>
      </Form>
    </Modal>
  );
}
