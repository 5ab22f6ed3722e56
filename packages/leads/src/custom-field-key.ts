/**
 * A text as names of custom fields and their options are compared: NFC, trimmed, without regard to
 * case. `Profissão`, ` PROFISSÃO ` and its decomposed form are one.
 */
export function customFieldKey(text: string): string {
  // Upper case first, because lower case alone keeps ß from SS, and ς from σ.
  return text.normalize('NFC').trim().toUpperCase().toLowerCase().normalize('NFC');
}
