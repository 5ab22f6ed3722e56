import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { type Submission, unpackUuid } from '@leadgate/contract';
import { Type } from 'typebox';
import type { AcceptRequest } from './accept.ts';

/** `CONSENT_KEY`, the same for receivers, console and command line. */
export const consentKeySetting = () =>
  Type.Optional(
    Type.String({
      description:
        'the secret that signs links by which a person withdraws a consent, the same for receivers, console and command line; without it there are none',
      examples: ['the output of: openssl rand -base64 32'],
      secret: true,
      minLength: 32,
    }),
  );

/** `CONSENT_KEY_BEFORE`: links that were sent under it stay good. */
export const consentKeyBeforeSetting = () =>
  Type.Optional(
    Type.String({
      description: 'the CONSENT_KEY before this one: links that were signed with it stay good',
      secret: true,
      minLength: 32,
    }),
  );

/** Whose consent, and by which link it was asked for. */
export interface Consenter {
  workspaceId: string;
  /** Any id of the lead. */
  leadId: string;
  linkId: string;
}

const ID_BYTES = 16;
/** Of the HMAC: 128 bits cannot be guessed, and the address stays short enough for a mail. */
const PROOF_BYTES = 16;

/** What stands in the address of a link that withdraws: ids, and proof that this service made it. */
export function signConsenter(secret: string, { workspaceId, leadId, linkId }: Consenter): string {
  const ids = Buffer.concat([workspaceId, leadId, linkId].map(bytesOf));
  return Buffer.concat([ids, proofOf(secret, ids)]).toString('base64url');
}

/** Who a link is for; null if none of these secrets signed it. */
export function readConsenter(secrets: readonly string[], token: string): Consenter | null {
  const bytes = Buffer.from(token, 'base64url');
  if (bytes.length !== 3 * ID_BYTES + PROOF_BYTES) return null;
  const ids = bytes.subarray(0, 3 * ID_BYTES);
  const proof = bytes.subarray(3 * ID_BYTES);
  if (!secrets.some((secret) => timingSafeEqual(proof, proofOf(secret, ids)))) return null;
  const idAt = (n: number) =>
    unpackUuid(ids.toString('base64url', n * ID_BYTES, (n + 1) * ID_BYTES));
  return { workspaceId: idAt(0), leadId: idAt(1), linkId: idAt(2) };
}

function proofOf(secret: string, ids: Uint8Array): Buffer {
  const key = new Uint8Array(hkdfSync('sha256', secret, '', 'leadgate consent link', 32));
  return createHmac('sha256', key).update(ids).digest().subarray(0, PROOF_BYTES);
}

const bytesOf = (id: string): Buffer => Buffer.from(id.replaceAll('-', ''), 'hex');

/**
 * A withdrawal as what it is handed in as: a submission that has no value. It goes the way of every lead,
 * so that it is as durable once it is accepted, and is recorded by the group that applies it.
 */
export function withdrawalOf(
  { workspaceId, leadId, linkId }: Consenter,
  {
    submissionId,
    text,
    language,
    ...sender
  }: Pick<Submission, 'page' | 'userAgent' | 'address' | 'requestId'> & {
    /** UUIDv7. */
    submissionId: string;
    /** How it was said. */
    text?: string;
    /** Of the page that it was said on, as a BCP 47 tag. */
    language?: string;
  },
): AcceptRequest {
  return {
    submission: {
      ...{ id: submissionId, workspaceId, linkId, source: 'withdrawal', lead: {}, notes: [] },
      consent: {
        given: false,
        ...(text !== undefined && { text }),
        ...(language !== undefined && { language }),
      },
      ...{ body: '', bodyType: 'json', ...sender },
    },
    offeredLeadId: leadId,
    isAnswered: true,
    identityKeys: [],
  };
}
