import type { FastifyInstance } from 'fastify';
import { collectOpenapi } from '../collect-openapi.ts';
import type { ApiServices, ConsoleServices } from '../services.ts';
import { accountPageRoutes } from './account-pages.ts';
import { addOperations } from './api.ts';
import { dashboardRoutes } from './dashboard.ts';
import { healthRoutes } from './health.ts';
import { importRoutes } from './imports.ts';
import { linkPageRoutes } from './link-pages.ts';
import { livePageRoutes } from './live-pages.ts';
import { metricsRoutes } from './metrics.ts';
import { pageRoutes } from './pages.ts';
import { replayRoutes } from './replays.ts';
import { signInRoutes } from './sign-in.ts';
import { tailRoutes } from './tail.ts';

/** Every route of the console. */
export async function addRoutes(app: FastifyInstance, services: ConsoleServices): Promise<void> {
  await app.register(healthRoutes, services);
  await app.register(signInRoutes, services);
  await app.register(metricsRoutes, services);
  await app.register(pageRoutes, services);
  await app.register(linkPageRoutes, services);
  await app.register(accountPageRoutes, services);
  await app.register(livePageRoutes, services);
  await app.register(dashboardRoutes, services);
  await addApiRoutes(app, services);
}

/** The operators' API, described by /api/openapi.json: operations, and what streams. */
export async function addApiRoutes(app: FastifyInstance, services: ApiServices): Promise<void> {
  await collectOpenapi(app);
  await addOperations(app, services.connections);
  for (const routes of [importRoutes, replayRoutes, tailRoutes])
    await app.register(routes, { ...services, prefix: '/api' });
  app.get('/api/openapi.json', { schema: { hide: true } }, () => app.swagger());
}
