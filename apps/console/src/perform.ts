import {
  type Call,
  type Connections,
  type Given,
  type Operation,
  Refusal,
  roleOver,
  runOperation,
} from '@leadgate/operations';
import type { FastifyReply } from 'fastify';
import type { Static, TObject } from 'typebox';
import { actorOf } from './gate.ts';
import { forRole } from './mask.ts';

/** Runs an operation for whoever makes a request; its result masked as their role needs it. */
export async function perform<I extends TObject, O>(
  reply: FastifyReply,
  operation: Operation<I, O>,
  input: Given<Static<I>>,
  connections: Connections,
): Promise<O | Refusal> {
  const call = callOf(reply);
  const result = await runOperation(operation, input, connections, call);
  if (result instanceof Refusal || !operation.personal) return result;
  const role = await roleOver(operation, input, connections, call.actor);
  return forRole(role instanceof Refusal ? null : role, result);
}

/** Who calls, as operations know it. What takes long ends with the connection. */
function callOf(reply: FastifyReply): Call {
  const { request } = reply;
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  return {
    actor: actorOf(request),
    requestId: request.id,
    signal: gone.signal,
    warn: (sentence, err) => request.log.warn({ err, requestId: request.id }, sentence),
  };
}
