import { createHmac, createSecretKey, hash, randomBytes, type KeyObject } from 'node:crypto';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** A new secret, written as Standard Webhooks does: `whsec_` and base64. */
export function newSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

/** What names one version of a lead to one endpoint, through all tries of it. */
interface MessageOf {
  endpointId: string;
  leadId: string;
  version: number;
  /** How often it was asked to be sent again: each time it is another message. */
  resends: number;
}

/** The `webhook-id`: the same for the same version, whichever process sends it, however often. */
export function messageId({ endpointId, leadId, version, resends }: MessageOf): string {
  const digest = hash('sha256', `${endpointId} ${leadId} ${version} ${resends}`, 'base64url');
  return `msg_${digest.slice(0, 24)}`;
}

export function signingKey(secret: string): KeyObject {
  return createSecretKey(secret.slice(PREFIX.length), 'base64');
}

/**
 * The headers of a signed message (Standard Webhooks 1.0: `v1`, HMAC-SHA256 over id, time and body), with
 * one signature a key: during a rotation the receiver may hold either. Beside `others`.
 */
export function signedHeaders(
  keys: readonly KeyObject[],
  { id, seconds, body }: { id: string; seconds: number; body: string | Uint8Array },
  others: Readonly<Record<string, string>> = {},
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  const signatures = keys.map((key) => {
    const hmac = createHmac('sha256', key).update(`${id}.${seconds}.`).update(body);
    return `v1,${hmac.digest('base64')}`;
  });
  return {
    ...others,
    'webhook-id': id,
    'webhook-timestamp': seconds.toString(),
    'webhook-signature': signatures.join(' '),
  };
}
