import type { Redis } from 'ioredis';
import { REFILL_REQUESTS } from '../keys.ts';
import { decodeGroup, encodeGroup, prepareRequest, type PreparedRequest } from './group.ts';
import { createLimits, type Limits } from './limits.ts';
import { ReservationError, type Reservation, type ReservationRequest } from './reservation.ts';
import { reserveScript } from './reserve-script.ts';

const MAX_GROUP = 100;
const REQUEST_REFILL_EVERY_MS = 1_000;

export interface Reserver {
  /**
   * Reserves a lead id and an order for a submission, in one script call with whatever else is asked
   * for its workspace in the same turn of the event loop. Rejects with a ReservationError when Redis
   * fails or does not answer, and the caller holds the deadline; with a TypeError or RangeError where
   * an id is no UUID, or there are more than 64 identities or 8 limits.
   */
  reserve(request: ReservationRequest): Promise<Reservation>;
}

interface Waiting extends PreparedRequest {
  resolve: (reservation: Reservation) => void;
  reject: (error: unknown) => void;
}

/** A reserver over a producer's connection. `limits`: the estimate to feed with what Redis counted. */
export function createReserver(
  redis: Redis,
  { limits = createLimits() }: { limits?: Limits } = {},
): Reserver {
  /** The highest order seen of each workspace: a clock below it is that of an older Redis. */
  const highestOrders = new Map<string, number>();
  const requestRefill = refillRequests(redis);
  let gathering = new Map<string, Waiting[]>();

  // setImmediate and not a microtask: what all sockets brought in this turn goes together.
  const sendAll = (): void => {
    const groups = gathering;
    gathering = new Map();
    for (const [workspaceId, waiting] of groups)
      for (let i = 0; i < waiting.length; i += MAX_GROUP)
        void sendGroup(workspaceId, waiting.slice(i, i + MAX_GROUP));
  };

  const sendGroup = async (workspaceId: string, group: Waiting[]): Promise<void> => {
    const departure = limits.depart(workspaceId, group);
    try {
      const highest = highestOrders.get(workspaceId) ?? 0;
      const { keys, args } = encodeGroup(workspaceId, group, departure.limits, highest);
      const reply = decodeGroup(await reserveScript(redis, keys, args), group);
      limits.arrive(departure, reply.totals, reply.now / 1_000);
      noteOrders(workspaceId, reply.reservations);
      group.forEach(({ resolve, reject }, i) => {
        const reservation = reply.reservations[i];
        if (reservation) resolve(reservation);
        else reject(new ReservationError(undefined));
      });
    } catch (error) {
      limits.lose(departure);
      const failure = new ReservationError(error);
      for (const { reject } of group) reject(failure);
    }
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
    reserve: (request) =>
      new Promise((resolve, reject) => {
        const waiting: Waiting = { ...prepareRequest(request), resolve, reject };
        if (gathering.size === 0) setImmediate(sendAll);
        const group = gathering.get(request.workspaceId);
        if (group) group.push(waiting);
        else gathering.set(request.workspaceId, [waiting]);
      }),
  };
}

/** Asks for refills, best effort: the worker also looks for missing markers by itself. */
function refillRequests(redis: Redis): (workspaceId: string) => void {
  const asked = new Map<string, number>();
  return (workspaceId) => {
    const now = Date.now();
    if (now - (asked.get(workspaceId) ?? 0) < REQUEST_REFILL_EVERY_MS) return;
    asked.set(workspaceId, now);
    redis.sadd(REFILL_REQUESTS, workspaceId).catch(() => undefined);
  };
}
