import { directoryRevision } from '@leadgate/store';
import type { FastifyPluginAsync } from 'fastify';
import type { ConsoleServices } from '../services.ts';

/** GET /live: the event loop turns. GET /ready: both servers answer. Open to anybody. */
export const healthRoutes: FastifyPluginAsync<ConsoleServices> = async (app, { store, redis }) => {
  const access = { config: { public: true }, schema: { hide: true } };
  app.get('/live', access, () => ({ status: 'live' }));
  app.get('/ready', access, async (_request, reply) => {
    const [postgres, redisState] = await Promise.all([
      answers(() => directoryRevision(store)),
      answers(() => redis.ping()),
    ]);
    const ready = postgres && redisState;
    return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : 'not-ready' });
  });
};

async function answers(ask: () => Promise<unknown>): Promise<boolean> {
  try {
    await ask();
    return true;
  } catch {
    return false;
  }
}
