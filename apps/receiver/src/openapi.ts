import swagger from '@fastify/swagger';
import { fastify } from 'fastify';
import { receiverApp, type ReceiverServices } from './app.ts';
import { makeAsset } from './assets.ts';

/** The OpenAPI document of the public side, made from the schemas of its routes; no server needed. */
export async function openapiDocument(): Promise<object> {
  const app = fastify();
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Leadgate',
        description: 'Send leads of landing pages to a workspace by its capture links.',
        version: '1',
      },
    },
    refResolver: {
      buildLocalReference: (json, _baseUri, _fragment, i) =>
        typeof json.$id === 'string' ? json.$id : `def-${i}`,
    },
  });
  await app.register(receiverApp, NO_SERVICES);
  await app.ready();
  const document = app.swagger();
  await app.close();
  return document;
}

const unused = (): never => {
  throw new Error('the document is made without servers');
};

const NO_SERVICES: ReceiverServices = {
  config: { RATE_LIMIT_LINK: 1, RATE_LIMIT_ADDRESS: 1, KEEP_ADDRESS: 'none' },
  directory: { find: unused, peek: unused },
  reserver: { reserve: unused },
  producer: { enqueue: unused },
  breaker: { run: unused },
  backpressure: unused,
  spool: null,
  isOnDisk: unused,
  pushRejected: unused,
  verifyCaptcha: unused,
  openSecret: unused,
  limits: { count: unused, spend: unused },
  linkCounter: { count: unused },
  health: { cutOffMs: unused, readiness: unused, stop: unused },
  demo: null,
  snippet: makeAsset(Buffer.alloc(0), ''),
  onFailure: unused,
  onAnswer: unused,
  clock: unused,
};
