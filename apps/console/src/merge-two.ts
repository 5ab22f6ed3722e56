import { moveIdentities } from '@leadgate/intake';
import { joinLeads } from '@leadgate/leads';
import { mergeLeads } from '@leadgate/store';
import type { FastifyRequest } from 'fastify';
import { ProblemError } from './problem.ts';
import type { ApiServices } from './services.ts';
import { tellRedis } from './tell-redis.ts';

/**
 * Makes one lead of two, for whoever asked: the first stays, and Redis follows. Says whether they
 * were two. Throws a ProblemError where one is not known or was erased.
 */
export async function mergeTwo(
  { store, redis }: Pick<ApiServices, 'store' | 'redis'>,
  request: FastifyRequest,
  { workspaceId, leadId, otherId }: Record<'workspaceId' | 'leadId' | 'otherId', string>,
): Promise<{ leadId: string; merged: boolean }> {
  const outcome = await mergeLeads(store, workspaceId, leadId, otherId, { joinLeads });
  switch (outcome.kind) {
    case 'unknown-lead':
      throw new ProblemError('not-found', { detail: `There is no lead ${outcome.leadId}.` });
    case 'erased-lead':
      throw new ProblemError('conflict', { detail: `Lead ${outcome.leadId} was erased.` });
    case 'one-lead':
      return { leadId: outcome.leadId, merged: false };
    case 'merged':
      await tellRedis(request, () => moveIdentities(redis, workspaceId, outcome.moved));
      return { leadId: outcome.leadId, merged: true };
  }
}
