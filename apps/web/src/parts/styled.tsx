import { Button, Code, Text } from '@mantine/core';
import type { ComponentProps, ReactNode } from 'react';
import { Icon } from './icon.tsx';

/** What explains something, in the colour of what is read second. */
export const Hint = Text.withProps({ size: 'sm', c: 'var(--soft)' });

/** A text as a program reads or writes it; one scrolls it with the keys too. */
export const CodeBlock = Code.withProps({ block: true, className: 'code', tabIndex: 0 });

/** Makes one more. */
export const AddButton = Button.withProps({ leftSection: <Icon name="plus" size={14} /> });

/** What opens or chooses a row of a list, and is gone to by the keys j and k. */
export const RowButton = (props: ComponentProps<'button'>) => (
  <button type="button" className="row grow" {...props} />
);

/** Fields that are sent together, also by Enter: what is wrong with them the API says. */
export const Form = ({ send, children }: { send: () => void; children: ReactNode }) => (
  <form
    noValidate
    onSubmit={(event) => {
      event.preventDefault();
      send();
    }}
  >
    {children}
  </form>
);
