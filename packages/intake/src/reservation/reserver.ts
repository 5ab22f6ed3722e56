import { groupCalls, type RedisConnection } from '@leadgate/boot';
import { REFILL_CHANNEL, REFILL_REQUESTS, REMOVED } from '../keys.ts';
import { decodeGroup, encodeGroup, prepareRequest, type PreparedRequest } from './group.ts';
import { createLimits, type Limits } from './limits.ts';
import { ReservationError, type Reservation, type ReservationRequest } from './reservation.ts';
import { reserveScript } from './reserve-script.ts';

const MAX_GROUP = 100;
const REQUEST_REFILL_EVERY_MS = 1_000;

export interface Reserver {
  /**
   * Reserves a lead id and an order for a submission, in one script call with whatever else is asked
   * for its workspace in the same turn of the event loop, or while another call is on its way: groups
   * are as large as the load makes them. Rejects with a ReservationError when Redis
   * fails or does not answer, and the caller holds the deadline; with a TypeError or RangeError where
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
