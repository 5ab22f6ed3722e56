import { groupCalls, type RedisConnection } from '@leadgate/boot';
import {
  type HeldReason,
  isExternalKey,
  type OwnedIdentity,
  PACKED_LENGTH,
  packUuid,
  readHeldReason,
  unpackUuid,
} from '@leadgate/contract';
import {
  claimsKey,
  identitiesKey,
  identityRef,
  type IdentityRef,
  limitsKey,
  recordKey,
  REFILL_CHANNEL,
  REFILL_REQUESTS,
  REMOVED,
  shortDigest,
  stateKey,
} from '../keys.ts';
import {
  type CarriedLimit,
  createLimits,
  type Limits,
  type LimitUse,
  MAX_WEIGHT,
} from './limits.ts';
import { RECORD_ORDER, reserveScript } from './reserve-script.ts';

/** What a submission asks of Redis before it is enqueued. Ids are UUIDs in lower case. */
export interface ReservationRequest {
  submissionId: string;
  workspaceId: string;
  linkId: string;
  /** The lead it is for if none of its identities is known. */
  offeredLeadId: string;
  /** The sender's id of it (`externalKey`), if it has one, then the email. */
  identityKeys: readonly string[];
  /** It waits for an operator: it gets an order, is of the offered lead, and claims no identity. */
  held?: HeldReason;
  /** `key` is per link; `bodyHash` tells another body under the same key. */
  idempotency?: { key: string; bodyHash: string };
  limits: readonly LimitUse[];
  /**
   * Of the source: counted when the identities are not all of one lead before this request, so that
   * their meeting tells who is known. Over it, only the first identity counts (decision 36).
   */
  joinLimit?: LimitUse;
}

/**
 * - `reserved`: the lead it is for, who owns each of its keys, and its order (microseconds).
 *   `isKnown`: its sender's id of it came before; nothing was claimed, and it changes nothing.
 *   `joinLimited`: all but the first of them were left out, as the source was over its `joinLimit`.
 * - `repeated`: this idempotency key came before with the same body, as the submission named here.
 *   Whoever reserved that may have died before enqueuing it: enqueue it again, then answer. `held`:
 *   how it was judged then, which is how it stays, whatever this request says.
 * - `key-reused`: this idempotency key came before with another body.
 * - `limited`: over a limit.
 * - `behind`: Redis does not hold all of the workspace. Nothing was claimed; a refill was asked for.
 */
export type Reservation =
  | {
      kind: 'reserved';
      leadId: string;
      identities: OwnedIdentity[];
      order: number;
      joinLimited?: true;
      isKnown?: true;
    }
  | {
      kind: 'repeated';
      submissionId: string;
      leadId: string;
      identities: OwnedIdentity[];
      order: number;
      held?: HeldReason;
    }
  | { kind: 'key-reused' }
  | { kind: 'limited'; retryAfterSeconds: number }
  | { kind: 'behind' };

const MAX_GROUP = 100;
const REQUEST_REFILL_EVERY_MS = 1_000;

export interface Reserver {
  /**
   * Reserves a lead id and an order for a submission, in one script call with whatever else is asked
   * for its workspace in the same turn of the event loop, or while another call is on its way: groups
   * are as large as the load makes them. Rejects with a ReservationError when Redis
   * fails or does not answer, and the caller holds the deadline; with a TypeError or RangeError if
   * an id is no UUID, or there are more than 64 identities or 8 limits.
   */
  reserve(request: ReservationRequest): Promise<Reservation>;
  /** Whether a workspace that is behind was removed for good. A worker says so, once it was asked to refill it. */
  isRemoved(workspaceId: string): Promise<boolean>;
}

/**
 * A reserver over a producer's connection. `limits`: the estimate to feed with what Redis counted.
 * `waitReplicas`: how many must have a reservation before it is answered; with fewer, it is rejected.
 */
export function createReserver(
  redis: RedisConnection,
  { limits = createLimits(), waitReplicas = 0 }: { limits?: Limits; waitReplicas?: number } = {},
): Reserver {
  /** The highest order seen of each workspace: a clock below it is that of an older Redis. */
  const highestOrders = new Map<string, number>();
  const requestRefill = refillRequests(redis);
  /** By workspace. */
  const grouped = new Map<string, (request: PreparedRequest) => Promise<Reservation>>();

  const reserveGroup = async (
    workspaceId: string,
    group: PreparedRequest[],
  ): Promise<Reservation[]> => {
    const sent = limits.send(workspaceId, group);
    try {
      const highest = highestOrders.get(workspaceId) ?? 0;
      const { keys, args } = encodeGroup(workspaceId, group, sent.limits, highest);
      const reply = decodeGroup(
        await reserveScript(redis, keys, args, { replicas: waitReplicas }),
        group,
      );
      limits.confirm(sent, reply.totals, reply.now / 1_000);
      noteOrders(workspaceId, reply.reservations);
      return reply.reservations;
    } catch (error) {
      limits.giveUp(sent);
      throw new ReservationError(error);
    }
  };

  const groupedIn = (workspaceId: string): ((request: PreparedRequest) => Promise<Reservation>) => {
    const known = grouped.get(workspaceId);
    if (known !== undefined) return known;
    const made = groupCalls((group: PreparedRequest[]) => reserveGroup(workspaceId, group), {
      name: 'reserve',
      maxSize: MAX_GROUP,
    });
    grouped.set(workspaceId, made);
    return made;
  };

  const noteOrders = (workspaceId: string, reservations: Reservation[]): void => {
    let highest = highestOrders.get(workspaceId) ?? 0;
    for (const reservation of reservations) {
      if ('order' in reservation) highest = Math.max(highest, reservation.order);
      else if (reservation.kind === 'behind') requestRefill(workspaceId);
    }
    if (highest > 0) highestOrders.set(workspaceId, highest);
  };

  return {
    // Not a plain function: what preparing throws rejects.
    reserve: async (request) => groupedIn(request.workspaceId)(prepareRequest(request)),
    isRemoved: async (workspaceId) => (await redis.sismember(REMOVED, workspaceId)) === 1,
  };
}

/** Asks for refills, best effort: the worker also looks for missing markers by itself. */
function refillRequests(redis: RedisConnection): (workspaceId: string) => void {
  const asked = new Map<string, number>();
  return (workspaceId) => {
    const now = Date.now();
    if (now - (asked.get(workspaceId) ?? 0) < REQUEST_REFILL_EVERY_MS) return;
    asked.set(workspaceId, now);
    redis
      .sadd(REFILL_REQUESTS, workspaceId)
      .then(() => redis.publish(REFILL_CHANNEL, workspaceId))
      .catch(() => undefined);
  };
}

/** In a record, before the reason why it was held; no identity begins with it. */
const HELD_MARK = '!';

/** What a character of the script's shape can count. */
const MAX_KEYS = 64;
/** Those of a whole group are one argument list of a command in Lua, which takes some thousands. */
const MAX_LIMITS = 8;

/** A request with all that can be worked out before its group is gathered. */
interface PreparedRequest {
  request: ReservationRequest;
  /** Packed. */
  offered: string;
  /** Of the identities to claim: none of what is held. */
  refs: IdentityRef[];
  /** Whether the first of them is its sender's id of it. */
  isExternal: boolean;
  record: { key: string; fingerprint: string; submission: string; judged: string } | null;
  /** Null if there is nothing to bring together. */
  joinLimit: LimitUse | null;
}

interface GroupReply {
  /** Microseconds, Redis's clock. */
  now: number;
  reservations: Reservation[];
  /** Of the limit keys, in the order they were given. */
  totals: number[];
}

/** Throws a TypeError or RangeError on a request that the script cannot take. */
function prepareRequest(request: ReservationRequest): PreparedRequest {
  const { identityKeys, held, idempotency, limits, workspaceId } = request;
  if (identityKeys.length > MAX_KEYS || limits.length > MAX_LIMITS)
    throw new RangeError(`a request has at most ${MAX_KEYS} identities and ${MAX_LIMITS} limits`);
  if (
    limits.some(({ weight = 1 }) => !Number.isInteger(weight) || weight < 1 || weight > MAX_WEIGHT)
  )
    throw new RangeError(`a use of a limit counts as 1 to ${MAX_WEIGHT}`);
  const refs = held === undefined ? identityKeys.map(identityRef) : [];
  const isExternal = refs.length > 0 && isExternalKey(identityKeys[0] ?? '');
  return {
    request,
    offered: packUuid(request.offeredLeadId),
    refs,
    isExternal,
    joinLimit: refs.length > (isExternal ? 2 : 1) ? (request.joinLimit ?? null) : null,
    record: idempotency
      ? {
          key: recordKey(workspaceId, shortDigest(request.linkId, idempotency.key)),
          fingerprint: shortDigest(idempotency.bodyHash),
          submission: packUuid(request.submissionId),
          judged: held === undefined ? '' : HELD_MARK + held,
        }
      : null,
  };
}

/** The keys and arguments of `reserveScript`, where they are described. */
function encodeGroup(
  workspaceId: string,
  group: readonly PreparedRequest[],
  limits: readonly CarriedLimit[],
  highestOrderSeen: number,
): { keys: string[]; args: (string | number)[] } {
  const limitIndex = new Map(limits.map(({ key }, i) => [key, digits(i)]));
  const recordKeys: string[] = [];
  const identityKeys: string[] = [];
  const requestArgs: string[] = [];
  let shape = '';
  for (const { request, offered, refs, isExternal, record, joinLimit } of group) {
    const has = (record ? 1 : 0) + (joinLimit ? 2 : 0) + (isExternal ? 4 : 0);
    shape += char(refs.length) + char(has) + char(request.limits.length);
    for (const { key, weight = 1 } of joinLimit ? [...request.limits, joinLimit] : request.limits)
      shape += (limitIndex.get(key) ?? digits(0)) + char(weight);
    requestArgs.push(offered);
    for (const { bucket, field } of refs) {
      identityKeys.push(identitiesKey(workspaceId, bucket));
      requestArgs.push(field);
    }
    if (record) {
      recordKeys.push(record.key);
      requestArgs.push(record.fingerprint, record.submission, record.judged);
    }
  }
  return {
    keys: [
      stateKey(workspaceId),
      claimsKey(workspaceId),
      limitsKey(workspaceId),
      ...recordKeys,
      ...identityKeys,
    ],
    args: [
      ...[highestOrderSeen, group.length, recordKeys.length, limits.length, shape],
      ...limits.flatMap(({ key, max, extra }) => [key, max, extra]),
      ...requestArgs,
    ],
  };
}

const char = (n: number): string => String.fromCharCode(48 + n);
const digits = (n: number): string => char(n >> 6) + char(n & 63);

/** Throws a TypeError when the reply is not one of `reserveScript` to this group. */
function decodeGroup(reply: unknown, group: readonly PreparedRequest[]): GroupReply {
  if (!Array.isArray(reply)) throw new TypeError('the reply of the reservation is not a list');
  const [now, first, text, ...totals] = reply as unknown[];
  if (typeof now !== 'number' || typeof first !== 'number' || typeof text !== 'string')
    throw new TypeError('the reply of the reservation cannot be read');
  const answers = text.split('\n');
  if (answers.length !== group.length)
    throw new TypeError('the reply of the reservation does not match its requests');
  let order = first;
  const reservations = group.map((prepared, i): Reservation => {
    const answer = answers[i] ?? '';
    const { request } = prepared;
    switch (answer[0]) {
      case 'n':
        return {
          kind: 'reserved',
          leadId: request.offeredLeadId,
          identities: claimedKeys(request).map((key) => ({ key, owner: request.offeredLeadId })),
          order: order++,
        };
      case 'o':
      case 'e': {
        const leadId = unpackUuid(answer.slice(1, 1 + PACKED_LENGTH));
        const owners = readOwners(answer, 1 + PACKED_LENGTH, leadId);
        const identities = request.identityKeys.map((key, k) => ({
          key,
          owner: owners[k] ?? null,
        }));
        return {
          kind: 'reserved',
          leadId,
          identities,
          order: order++,
          ...(answer.endsWith('~') && { joinLimited: true as const }),
          ...(answer.startsWith('e') && { isKnown: true as const }),
        };
      }
      case 'p':
        return readRecord(answer.slice(1), prepared);
      case 'x':
        return { kind: 'key-reused' };
      case 'l':
        return { kind: 'limited', retryAfterSeconds: 60 - (Math.floor(now / 1_000_000) % 60) };
      case 'b':
        return { kind: 'behind' };
      default:
        throw new TypeError('an answer of the reservation cannot be read');
    }
  });
  return { now, reservations, totals: totals.map(Number) };
}

const claimedKeys = ({ held, identityKeys }: ReservationRequest): readonly string[] =>
  held === undefined ? identityKeys : [];

/** Owners as the script writes them: '.' the lead, '-' and '~' nobody, '+' and a packed lead. */
function readOwners(text: string, start: number, leadId: string): (string | null)[] {
  const owners: (string | null)[] = [];
  for (let at = start; at < text.length; at++) {
    if (text[at] === '.') owners.push(leadId);
    else if (text[at] === '-' || text[at] === '~') owners.push(null);
    else {
      owners.push(unpackUuid(text.slice(at + 1, at + 1 + PACKED_LENGTH)));
      at += PACKED_LENGTH;
    }
  }
  return owners;
}

const FIELD_LENGTH = 19;

/**
 * The answer that a record holds. Owners are found by key and not by place: a change of the
 * workspace's country may have given the same body other keys, and those nobody spoke for.
 */
function readRecord(text: string, { request }: PreparedRequest): Reservation {
  // As written, but for the fingerprint in front.
  const orderAt = RECORD_ORDER.start - PACKED_LENGTH;
  const tailAt = RECORD_ORDER.end - PACKED_LENGTH;
  const leadId = unpackUuid(text.slice(PACKED_LENGTH, 2 * PACKED_LENGTH));
  const repeated = {
    kind: 'repeated' as const,
    submissionId: unpackUuid(text.slice(0, PACKED_LENGTH)),
    leadId,
    order: Number(text.slice(orderAt, tailAt)),
  };
  if (text[tailAt] === HELD_MARK)
    return { ...repeated, identities: [], held: readHeldReason(text.slice(tailAt + 1)) };
  const owners = new Map<string, string | null>();
  for (let at = tailAt; at < text.length;) {
    const field = text.slice(at, at + FIELD_LENGTH);
    const width = text[at + FIELD_LENGTH] === '+' ? 1 + PACKED_LENGTH : 1;
    const end = at + FIELD_LENGTH + width;
    owners.set(field, readOwners(text.slice(0, end), at + FIELD_LENGTH, leadId)[0] ?? null);
    at = end;
  }
  const identities = request.identityKeys.map((key): OwnedIdentity => ({
    key,
    owner: owners.get(identityRef(key).field) ?? null,
  }));
  return { ...repeated, identities };
}

/**
 * The reservation failed as a whole: Redis did not answer, or refused. Whether it ran is unknown.
 * Names no value of a request. `code` is the first word of what Redis said (OOM, READONLY, …).
 */
class ReservationError extends Error {
  override readonly name = 'ReservationError';
  readonly code: string | undefined;

  constructor(cause: unknown) {
    const text = cause instanceof Error ? cause.message : 'unknown error';
    super(`the reservation failed: ${text.slice(0, 200)}`);
    this.code = /^[A-Z]+(?= )/.exec(text)?.[0];
  }
}
