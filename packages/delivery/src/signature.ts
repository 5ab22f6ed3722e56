import { createHash, createHmac, randomBytes } from 'node:crypto';

const PREFIX = 'whsec_';
const SECRET_BYTES = 32;

/** A new secret, written as Standard Webhooks does: `whsec_` and base64. */
export function newSecret(): string {
  return PREFIX + randomBytes(SECRET_BYTES).toString('base64');
}

/** What names one version of a lead to one endpoint, through all tries of it. */
export interface MessageOf {
  endpointId: string;
  leadId: string;
  version: number;
  /** How often it was asked to be sent again: each time it is another message. */
  resends: number;
}

/** The `webhook-id`: the same for the same version, whichever process sends it, however often. */
export function messageId({ endpointId, leadId, version, resends }: MessageOf): string {
  const digest = createHash('sha256')
    .update(`${endpointId} ${leadId} ${version} ${resends}`)
    .digest();
  return `msg_${digest.subarray(0, 18).toString('base64url')}`;
}

/**
 * The headers of a signed message (Standard Webhooks 1.0: `v1`, HMAC-SHA256 over id, time and body), with
 * one signature a secret: during a rotation the receiver may hold either.
 */
export function signedHeaders(
  secrets: readonly string[],
  { id, seconds, body }: { id: string; seconds: number; body: string },
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  const content = `${id}.${seconds}.${body}`;
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(content).digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': seconds.toString(),
    'webhook-signature': signatures.join(' '),
  };
}
