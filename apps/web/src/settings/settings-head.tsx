import { Button, Group, Text } from '@mantine/core';
import { Icon } from '../parts/icon.tsx';

/** What a list of settings is for, and for who may: the button that adds to it. */
export const SettingsHead = ({
  hint,
  label,
  add,
}: {
  hint: string;
  label: string;
  add: (() => void) | null;
}) => (
  <Group justify="space-between" mb="sm" align="flex-start">
    <Text size="sm" c="var(--soft)" maw={520}>
      {hint}
    </Text>
    {add !== null && (
      <Button leftSection={<Icon name="plus" size={14} />} onClick={add}>
        {label}
      </Button>
    )}
  </Group>
);
