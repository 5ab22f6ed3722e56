import { Textarea } from '@mantine/core';

/** Where a text is written as a program reads it. */
export const CodeInput = Textarea.withProps({
  ...{ autosize: true, spellCheck: false, classNames: { input: 'mono' } },
});
