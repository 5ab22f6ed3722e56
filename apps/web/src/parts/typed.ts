import { faultsOf } from '../api.ts';

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

/** Members of a form that hold a value of a kind. */
type Of<F, T> = { [N in keyof F]: F[N] extends T ? N : never }[keyof F] & string;

/** The fields of a form by their names: the value of each, what changes it, and what the API says is wrong with it. */
export function fieldsOf<F extends object>(form: F, set: (form: F) => void, error: Error | null) {
  const fault = faultsOf(error);
  return {
    fault,
    /** Of a text. */
    text: <N extends Of<F, string>>(name: N) => ({
      ...{ value: form[name], error: fault(`/${name}`) },
      onChange: ({ currentTarget: { value } }: { currentTarget: { value: string } }) =>
        set({ ...form, [name]: value }),
    }),
    /** Of a number, or what is chosen. */
    value: <N extends keyof F & string>(name: N) => ({
      ...{ value: form[name], error: fault(`/${name}`) },
      onChange: (value: F[N]) => set({ ...form, [name]: value }),
    }),
    /** Of a box that is ticked. */
    box: <N extends Of<F, boolean>>(name: N) => ({
      checked: form[name],
      onChange: ({ currentTarget: { checked } }: { currentTarget: { checked: boolean } }) =>
        set({ ...form, [name]: checked }),
    }),
  };
}
