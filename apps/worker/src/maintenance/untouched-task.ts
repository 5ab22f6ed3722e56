import type { Logger, RedisConnection } from '@leadgate/boot';
import { appendErasure, eraseEverywhere } from '@leadgate/operations';
import { leadsInQueue } from '@leadgate/queue';
import {
  databaseTime,
  dueRetention,
  retentionDone,
  type Store,
  untouchedLeads,
} from '@leadgate/store';
import type { MaintenanceTask } from './maintenance.ts';
import type { Lease } from './redis-lock.ts';
import { requireSameTime } from './retention-task.ts';

const EVERY_MS = 3_600_000;
/** While more are left: what a round costs, others do not wait for. */
const AGAIN_MS = 10_000;
const AT_ONCE = 10;
/** More jobs than this are a spike or an outage, and leads that nobody touched for years can wait. */
const MOST_JOBS = 5_000;

/**
 * Erases leads that nobody touched for as long as their workspace keeps them, the same way as a person who asks
 * for it, some at a time, by one worker. Up to the moment that they were kept for, not up to now: what the person
 * sends meanwhile is not dropped, it begins a new lead. None for whom something is in the queue.
 */
export function createUntouchedTask(
  { store, redis }: { store: Store; redis: RedisConnection },
  lease: Lease,
  { ledger, logger }: { ledger: string | undefined; logger: Pick<Logger, 'warn'> },
): MaintenanceTask {
  let next = -Infinity;

  async function eraseSome({ workspaceId, horizon, days }: Due, waits: ReadonlySet<string>) {
    const leads = await untouchedLeads(store, { workspaceId, horizon }, AT_ONCE);
    const free = leads.filter(
      ({ leadId, aliases }) => ![leadId, ...aliases].some((id) => waits.has(id)),
    );
    for (const { leadId } of free)
      await eraseEverywhere(
        { store, redis },
        {
          ...{ workspaceId, leadIds: [leadId], identities: [], offeredLeadId: leadId },
          ...{ order: horizon.getTime() * 1_000, erasedAt: new Date() },
          ...{ erasedBy: 'retention', reason: `retention: untouched for ${days} days` },
        },
        {
          dryRun: false,
          record: async (erasure) => {
            if (ledger !== undefined) await appendErasure(ledger, erasure);
          },
        },
      );
    return { erased: free.length, left: leads.length === AT_ONCE };
  }

  return {
    name: 'retention of leads',
    async run() {
      if (performance.now() < next || !(await lease.hold())) return null;
      next = performance.now() + EVERY_MS;
      const now = await databaseTime(store);
      const { due, notAllowed } = await dueRetention(store, 'leads', now);
      if (due.length === 0) return null;
      if (store.erasureKey === null)
        throw new Error('leads are kept for good before ERASURE_KEY is set');
      await requireSameTime(redis, now);
      const waits = await leadsInQueue(redis, MOST_JOBS);
      if (waits === null) {
        next = performance.now() + AGAIN_MS;
        return null;
      }
      let erased = 0;
      for (const one of due) {
        const some = await eraseSome(one, waits);
        erased += some.erased;
        if (some.left) next = performance.now() + AGAIN_MS;
        else await retentionDone(store, 'leads', [one]);
      }
      if (notAllowed.length > 0)
        logger.warn(
          { workspaces: notAllowed },
          'leads would go that are more than a month beyond the last run: look at the clocks and at the days to keep, then run leadgate retention set again',
        );
      return erased === 0 ? null : { erased };
    },
  };
}

type Due = Awaited<ReturnType<typeof dueRetention>>['due'][number];
