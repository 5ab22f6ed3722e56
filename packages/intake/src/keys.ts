import { redisScript, type RedisScript } from '@leadgate/boot';
import { hash } from 'node:crypto';
import { packDigits } from '@leadgate/contract';

/**
 * Names of everything this package keeps in Redis. What one script touches shares a hash tag, so
 * that it is in one slot of a Cluster.
 */

/** Hash: code → entry (JSON); under REVISION, how new a complete directory is. */
export const LINKS = 'leadgate:{links}:entries';
/** Not a code: codes are URL-safe. In the hash itself, so that the two are lost together. */
export const REVISION = '@revision';
/** List: what led from a revision to the next, the latest first: `before after code,code`. */
export const LINK_STEPS = 'leadgate:{links}:steps';
/** Channel: codes that changed, with commas between, or RELOAD. */
export const LINK_CHANGES = 'leadgate:links';
export const RELOAD = '*';

/** Set: workspaces that a receiver found behind. A hint; the markers are the truth. */
export const REFILL_REQUESTS = 'leadgate:refill';
/** Channel: a workspace that was added to them. */
export const REFILL_CHANNEL = 'leadgate:refill:asked';

/** Set, for a minute: removed workspaces of which something came. */
export const REMOVED = 'leadgate:removed';

/** Hash: link id → bytes in its stream of refused bodies; and their sum. */
export const REJECTED_BYTES = 'leadgate:{rejected}:bytes';
export const rejectedStream = (linkId: string): string => `leadgate:{rejected}:${linkId}`;

export const workspacePrefix = (workspaceId: string): string => `leadgate:{${workspaceId}}:`;

/**
 * Hash: `open` (the marker: identities are complete and may be claimed, on the Redis that it names), `clock` (the highest order
 * given), `floor` (the highest order a receiver knew of when it found the workspace behind).
 */
export const stateKey = (workspaceId: string): string => `${workspacePrefix(workspaceId)}state`;

/** Hash: lead → identities it has, but for two. Most leads never have more and are not in it. */
export const claimsKey = (workspaceId: string): string => `${workspacePrefix(workspaceId)}claims`;

/** Hash: what was counted in the minute it names under `window`. */
export const limitsKey = (workspaceId: string): string => `${workspacePrefix(workspaceId)}limits`;

/** Hash: a 65,536th of the workspace's identities. */
export const identitiesKey = (workspaceId: string, bucket: string): string =>
  `${workspacePrefix(workspaceId)}i:${bucket}`;

/** String, for 24 hours: what an idempotency key was answered with. */
export const recordKey = (workspaceId: string, name: string): string =>
  `${workspacePrefix(workspaceId)}k:${name}`;

/** String: how far a refill has come. In the slot of what it fills. */
export const refillKey = (prefix: string, refillId: string): string =>
  `${prefix}refill:${refillId}`;
export const LINKS_PREFIX = 'leadgate:{links}:';

/** Where a workspace keeps an identity: no email or phone stands in Redis in clear. */
export interface IdentityRef {
  /** The first 16 bits of the digest, in hexadecimal: which hash. */
  bucket: string;
  /** The other 112, in base64url (19 characters): which field of it. */
  field: string;
}

/**
 * Many small hashes cost a third of one large one: Redis keeps a hash of a few hundred short fields as
 * a packed list. 128 bits of SHA-256 do not collide at any number of identities.
 */
export function identityRef(key: string): IdentityRef {
  const digits = hash('sha256', key, 'hex');
  // Two a post: by a Buffer each takes twice as long.
  return { bucket: digits.slice(0, 4), field: packDigits(`${digits.slice(4, 32)}00`).slice(0, 19) };
}

/** 132 bits of SHA-256 over the parts, in base64url (22 characters). */
export function shortDigest(...parts: string[]): string {
  return hash('sha256', parts.join('\0'), 'base64url').slice(0, 22);
}

/**
 * Makes a script of Lua source.
 *
 * The shebang makes Redis (7.0 and later) refuse a script before its first command when memory is
 * full, the disk cannot be written or the server is a replica: a script runs whole or not at all, so
 * long as it makes its reads, which can meet a value of the wrong type, before its writes.
 */
export function script(lua: string): RedisScript {
  return redisScript(`#!lua\n${lua}`);
}
