/**
 * Tells one filled form of a visit from another: FNV-1a, 32 bits, over UTF-16 units. The digests of
 * the platform are absent on pages without TLS.
 */
export function digest(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x1000193);
  return hash;
}
