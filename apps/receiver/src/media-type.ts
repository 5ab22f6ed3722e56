import type { BodyType } from '@leadgate/contract';

const BODY_TYPES = new Map<string, BodyType>([
  ['application/json', 'json'],
  // JSON of beacons and of fetches that avoid a preflight.
  ['text/plain', 'json'],
  ['application/x-www-form-urlencoded', 'form'],
]);

const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)"?/i;

/**
 * How a body is to be read by its Content-Type and Content-Encoding; null where it cannot be:
 * another media type, a charset that is not UTF-8, or a compressed body.
 */
export function readMediaType(headers: {
  'content-type'?: string | undefined;
  'content-encoding'?: string | undefined;
}): BodyType | null {
  const encoding = headers['content-encoding']?.trim().toLowerCase();
  if (encoding && encoding !== 'identity') return null;
  const contentType = headers['content-type'];
  if (contentType === undefined) return null;
  const charset = CHARSET.exec(contentType)?.[1]?.toLowerCase();
  if (charset && charset !== 'utf-8' && charset !== 'utf8') return null;
  const end = contentType.indexOf(';');
  const mediaType = end === -1 ? contentType : contentType.slice(0, end);
  return BODY_TYPES.get(mediaType.trim().toLowerCase()) ?? null;
}
