import { Group } from '@mantine/core';
import { AddButton, Hint } from '../parts/styled.tsx';

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
    <Hint maw={520}>{hint}</Hint>
    {add !== null && <AddButton onClick={add}>{label}</AddButton>}
  </Group>
);
