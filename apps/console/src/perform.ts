import {
  type Call,
  type Connections,
  type Given,
  type Operation,
  type Refusal,
  runOperation,
} from '@leadgate/operations';
import type { FastifyReply } from 'fastify';
import type { Static, TObject } from 'typebox';
import { actorOf } from './gate.ts';

/** Runs an operation for whoever makes a request. */
export function perform<I extends TObject, O>(
  reply: FastifyReply,
  operation: Operation<I, O>,
  input: Given<Static<I>>,
  connections: Connections,
): Promise<O | Refusal> {
  return runOperation(operation, input, connections, callOf(reply));
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
