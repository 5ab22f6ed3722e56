import { Runner } from '@leadgate/operations';
import { Keyring } from '@leadgate/boot';
import { openStore } from '@leadgate/store';
import { fastify } from 'fastify';
import { Redis } from 'ioredis';
import { ConsoleProblem } from './problem.ts';
import { addApiRoutes } from './routes/api.ts';
import { connectionsOf } from './services.ts';

/** The OpenAPI document of the operators' API, made from the schemas of its routes; no server needed. */
export async function openapiDocument(): Promise<object> {
  const app = fastify();
  app.addSchema(ConsoleProblem);
  // Neither connects before it is asked for something.
  const store = openStore({ url: 'postgresql://nowhere/nothing', poolSize: 1 });
  const redis = new Redis({ lazyConnect: true });
  const servers = {
    store,
    runner: new Runner(),
    redis,
    receiverUrl: null,
    reserver: { reserve: unused, isRemoved: unused },
    producer: { enqueue: unused, replay: unused, counts: unused },
    failed: {
      reasons: unused,
      pages: unused,
      show: unused,
      retry: unused,
      remove: unused,
      close: unused,
    },
  };
  const connections = connectionsOf({
    ...servers,
    keyring: new Keyring('of no use here'),
    erasureLedger: null,
    consentKey: null,
    deliveries: { allowNetworks: [] },
  });
  await addApiRoutes(app, { ...servers, connections });
  await app.ready();
  const document = app.swagger();
  await app.close();
  await store.close();
  return document;
}

const unused = (): never => {
  throw new Error('the document is made without servers');
};
