/** What is typed a line each. */
export const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);

/** A value of a field as people read it: several values one after another. */
export function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** What a person is called in a list: by what is known of them, or else by the lead's id. */
export const nameOf = (lead: {
  leadId: string;
  name?: string | null;
  email?: string | null;
  telephone?: string | null;
}): string => lead.name ?? lead.email ?? lead.telephone ?? lead.leadId.slice(0, 8);
