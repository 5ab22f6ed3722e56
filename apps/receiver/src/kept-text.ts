/** A header as kept with a submission: without control characters, cut, absent where blank. */
export function keptText(header: string | undefined, longest: number): string | undefined {
  if (header === undefined) return undefined;
  // eslint-disable-next-line no-control-regex -- they are what this removes
  const text = header.replace(/[\u0000-\u001f\u007f-\u009f]/g, '').trim();
  return text.slice(0, longest) || undefined;
}
