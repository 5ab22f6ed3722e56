/** What a field of text shows, and what is done with what is typed there. */
export const typed = (value: string, set: (value: string) => void) => ({
  value,
  onChange: ({ currentTarget }: { currentTarget: { value: string } }) => set(currentTarget.value),
});

/** The same of a box that is ticked. */
export const ticked = (checked: boolean, set: (checked: boolean) => void) => ({
  checked,
  onChange: ({ currentTarget }: { currentTarget: { checked: boolean } }) =>
    set(currentTarget.checked),
});
