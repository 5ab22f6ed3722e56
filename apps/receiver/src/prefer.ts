/**
 * Whether a Prefer header asks for lenient handling (RFC 7240, section 4.4): `handling=lenient` in
 * its list, names in any case, the value quoted or not, parameters ignored. Of a preference that is
 * given twice the first counts (section 2).
 */
export function prefersLenient(header: string | string[] | undefined): boolean {
  if (header === undefined) return false;
  for (const preference of String(header).split(',')) {
    const [token = ''] = preference.split(';');
    const [name = '', value = ''] = token.split('=');
    if (name.trim().toLowerCase() !== 'handling') continue;
    return (
      value
        .trim()
        .replace(/^"(.*)"$/, '$1')
        .toLowerCase() === 'lenient'
    );
  }
  return false;
}
