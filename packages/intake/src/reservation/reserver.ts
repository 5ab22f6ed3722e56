import type { RedisConnection } from '@leadgate/boot';
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
   * for its workspace in the same turn of the event loop, or while another call is on its way: groups
   * are as large as the load makes them. Rejects with a ReservationError when Redis
   * fails or does not answer, and the caller holds the deadline; with a TypeError or RangeError where
   * an id is no UUID, or there are more than 64 identities or 8 limits.
   */
  reserve(request: ReservationRequest): Promise<Reservation>;
}

interface Waiting extends PreparedRequest {
  resolve: (reservation: Reservation) => void;
  reject: (error: unknown) => void;
}

/** Of one workspace: those that go with the next group, and how many groups Redis has. */
interface Line {
  waiting: Waiting[];
  scheduled: boolean;
  underWay: number;
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
  const lines = new Map<string, Line>();

  // setImmediate and not a microtask: what all sockets brought in this turn goes together.
  const schedule = (workspaceId: string, line: Line): void => {
    if (line.scheduled) return;
    line.scheduled = true;
    setImmediate(() => {
      line.scheduled = false;
      while (line.waiting.length >= MAX_GROUP || (line.waiting.length > 0 && line.underWay === 0))
        void sendGroup(workspaceId, line, line.waiting.splice(0, MAX_GROUP));
      if (line.underWay === 0) lines.delete(workspaceId);
    });
  };

  const sendGroup = async (workspaceId: string, line: Line, group: Waiting[]): Promise<void> => {
    line.underWay++;
    const departure = limits.depart(workspaceId, group);
    try {
      const highest = highestOrders.get(workspaceId) ?? 0;
      const { keys, args } = encodeGroup(workspaceId, group, departure.limits, highest);
      const reply = decodeGroup(
        await reserveScript(redis, keys, args, { replicas: waitReplicas }),
        group,
      );
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
    } finally {
      line.underWay--;
      schedule(workspaceId, line);
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
        const { workspaceId } = request;
        const line = lines.get(workspaceId) ?? { waiting: [], scheduled: false, underWay: 0 };
        lines.set(workspaceId, line);
        line.waiting.push(waiting);
        schedule(workspaceId, line);
      }),
  };
}

/** Asks for refills, best effort: the worker also looks for missing markers by itself. */
function refillRequests(redis: RedisConnection): (workspaceId: string) => void {
  const asked = new Map<string, number>();
  return (workspaceId) => {
    const now = Date.now();
    if (now - (asked.get(workspaceId) ?? 0) < REQUEST_REFILL_EVERY_MS) return;
    asked.set(workspaceId, now);
    redis.sadd(REFILL_REQUESTS, workspaceId).catch(() => undefined);
  };
}
