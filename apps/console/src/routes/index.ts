import type { FastifyInstance } from 'fastify';
import { collectOpenapi } from '../collect-openapi.ts';
import type { ApiServices, ConsoleServices } from '../services.ts';
import { addOperations } from './api.ts';
import { auditRoutes } from './audit.ts';
import { dashboardRoutes } from './dashboard.ts';
import { duplicatePageRoutes } from './duplicate-pages.ts';
import { duplicateRoutes } from './duplicates.ts';
import { exportRoutes } from './exports.ts';
import { failedRoutes } from './failed.ts';
import { fieldRoutes } from './fields.ts';
import { heldPageRoutes } from './held-pages.ts';
import { heldRoutes } from './held.ts';
import { importRoutes } from './imports.ts';
import { healthRoutes } from './health.ts';
import { leadRoutes } from './leads.ts';
import { linkPageRoutes } from './link-pages.ts';
import { livePageRoutes } from './live-pages.ts';
import { metricsRoutes } from './metrics.ts';
import { accountPageRoutes } from './account-pages.ts';
import { pageRoutes } from './pages.ts';
import { queueRoutes } from './queue.ts';
import { signInRoutes } from './sign-in.ts';
import { replayRoutes } from './replays.ts';
import { rejectedRoutes } from './rejected.ts';
import { submissionRoutes } from './submissions.ts';
import { tailRoutes } from './tail.ts';

/** One file a resource of the operators' API: put yours here. */
const API = [
  fieldRoutes,
  leadRoutes,
  duplicateRoutes,
  exportRoutes,
  importRoutes,
  submissionRoutes,
  rejectedRoutes,
  failedRoutes,
  heldRoutes,
  replayRoutes,
  tailRoutes,
  queueRoutes,
  auditRoutes,
];

/** Every route of the console. */
export async function addRoutes(app: FastifyInstance, services: ConsoleServices): Promise<void> {
  await app.register(healthRoutes, services);
  await app.register(signInRoutes, services);
  await app.register(metricsRoutes, services);
  await app.register(pageRoutes, services);
  await app.register(linkPageRoutes, services);
  await app.register(heldPageRoutes, services);
  await app.register(duplicatePageRoutes, services);
  await app.register(livePageRoutes, services);
  await app.register(accountPageRoutes, services);
  await app.register(dashboardRoutes, services);
  await addApiRoutes(app, services);
}

/** The operators' API, described by /api/openapi.json. */
export async function addApiRoutes(app: FastifyInstance, services: ApiServices): Promise<void> {
  await collectOpenapi(app);
  await addOperations(app, services.connections);
  for (const routes of API) await app.register(routes, { ...services, prefix: '/api' });
  app.get('/api/openapi.json', { schema: { hide: true } }, () => app.swagger());
}
