import { useMessages } from 'use-intl';

type Texts = ReturnType<typeof useMessages>;

/** Says what a code of the API means, by the texts of its kind; one that has no words is said as it is. */
export function useCode(
  of: (texts: Texts) => Readonly<Record<string, string>> = ({ code }) => code,
): (code: string) => string {
  const words = new Map(Object.entries(of(useMessages())));
  return (code) => words.get(code) ?? code;
}

/** The name of a field of a lead by its path (`address.city`); another one is named as it is sent. */
export function useFieldName(): (path: string) => string {
  const { leads, address } = useMessages();
  const names = new Map<string, string>([
    ...Object.entries(leads.column),
    ...Object.entries(address).map(([name, text]): [string, string] => [`address.${name}`, text]),
  ]);
  return (path) => names.get(path) ?? path;
}

/** The path of a field from its JSON pointer. */
export const pathOf = (pointer: string): string => pointer.slice(1).replaceAll('/', '.');

/** What was wrong with a post, in words: of each field, or of all of it. */
export function useCauseText(): (cause: {
  code: string;
  errors: readonly { pointer: string; code: string }[];
}) => string {
  const words = useCode();
  const name = useFieldName();
  return ({ code, errors }) =>
    errors.length === 0
      ? words(code)
      : errors
          .map(
            (error) =>
              `${error.pointer === '' ? '' : `${name(pathOf(error.pointer))}: `}${words(error.code)}`,
          )
          .join(' · ');
}
