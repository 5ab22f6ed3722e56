import { Button, Code, Text } from '@mantine/core';
import { Icon } from './icon.tsx';

/** What explains something, in the colour of what is read second. */
export const Hint = Text.withProps({ size: 'sm', c: 'var(--soft)' });

/** A text as a program reads or writes it; one scrolls it with the keys too. */
export const CodeBlock = Code.withProps({ block: true, className: 'code', tabIndex: 0 });

/** Makes one more. */
export const AddButton = Button.withProps({ leftSection: <Icon name="plus" size={14} /> });
