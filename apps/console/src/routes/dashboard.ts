import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import type { Role } from '@leadgate/contract';
import { shownTo } from '@leadgate/operations';
import { type DashboardQueue, readJobData } from '@leadgate/queue';
import type { FastifyPluginAsync } from 'fastify';
import { acts } from '../gate.ts';
import { DASHBOARD_PATH } from '../headers.ts';
import type { ConsoleServices } from '../services.ts';

/** Set by us on every request, over whatever was sent: bull-board hands headers on and no more. */
const ROLE_HEADER = 'x-leadgate-role';

/** In its page: a foreign site is not asked, as its policy says. */
const FOREIGN_FONTS = /<link href="https:\/\/fonts\.googleapis\.com[^>]*>/;

/** The colours and letters of our own pages, after its own sheet's: what says more is stronger. */
const LOOK = `<style>
html:root{--font-sans:system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;--font-mono:ui-monospace,SFMono-Regular,Menlo,monospace;
--background:#fbfbfa;--card:#fff;--foreground:#1b1c1f;--border:#e7e6e3;--muted:#f3f3f0;--muted-foreground:#5f6368;--secondary:#f3f3f0;--accent:#e9f7f3;--primary:#0f7557;--sidebar-accent:#e6e6e2;--status-waiting:#b45309;--status-waiting-children:#b8420a;--status-completed:#12803a;--status-failed:#c81e1e;--destructive:#c81e1e}
body.dark-mode.dark-mode{--background:#141517;--card:#1b1c1f;--foreground:#d5d7da;--border:#2b2d31;--muted:#212327;--muted-foreground:#a3a6ab;--secondary:#292b30;--accent:#17342b;--primary:#4fb492;--sidebar-accent:#292b30;--status-failed:#e57373;--destructive:#e57373}
body small,p[class^=description]{opacity:1}
</style>`;

/** Each may carry 200 leads, which are unpacked to be shown. */
const MOST_JOBS_A_PAGE = 20;

/**
 * What an operator may do in the dashboard. Not among it: adding, changing and removing jobs. A job
 * is somebody's lead; failed ones are discarded with a reason, elsewhere.
 */
const OFFERED = new Set([
  '/api/queues/pause',
  '/api/queues/resume',
  '/api/queues/:queueName/pause',
  '/api/queues/:queueName/resume',
  '/api/queues/:queueName/promote',
  '/api/queues/:queueName/retry/:queueStatus',
  '/api/queues/:queueName/:jobId/promote',
  '/api/queues/:queueName/:jobId/retry',
]);

/** bull-board on every queue, under /queues. Telephones and documents are masked, for viewers everything; who opens one in the inbox is on record. */
export const dashboardRoutes: FastifyPluginAsync<ConsoleServices> = async (app, { queues }) => {
  const board = new FastifyAdapter();
  board.setBasePath(DASHBOARD_PATH);
  const { replaceQueues } = createBullBoard({
    queues: [],
    serverAdapter: board,
    options: {
      uiConfig: {
        boardTitle: 'Leadgate',
        hideDocsLink: true,
        showMetrics: false,
        miscLinks: [{ text: 'Back to the console', url: '/queue' }],
      },
      handlerHooks: {
        before: ({ method, route }) =>
          method === 'get' || OFFERED.has(route)
            ? { allow: true }
            : { allow: false, status: 403, message: 'This is not done from the dashboard.' },
      },
    },
  });
  let shown: readonly DashboardQueue[] = [];
  const showShards = async (): Promise<void> => {
    const current = await queues.current();
    if (current === shown) return;
    shown = current;
    const name = (n: number) => (shown.length === 1 ? 'leads' : `leads ${n}`);
    replaceQueues(
      shown.flatMap((queue, n) => [
        adapterFor(queue, 'operator', name(n)),
        adapterFor(queue, 'viewer', name(n)),
      ]),
    );
  };
  await app.register(
    async (scope) => {
      scope.addHook('onRequest', async (request) => {
        request.headers[ROLE_HEADER] = acts(request) ? 'operator' : 'viewer';
        limitPage(request.query);
        await showShards();
      });
      scope.addHook<unknown>('onSend', async (_request, reply, payload) =>
        typeof payload === 'string' && /^text\/html/.test(String(reply.getHeader('content-type')))
          ? payload.replace(FOREIGN_FONTS, LOOK)
          : payload,
      );
      await scope.register(board.registerPlugin());
    },
    { prefix: DASHBOARD_PATH },
  );
};

/** The queue as somebody of a role sees it; the other one's is not there for them. */
function adapterFor(queue: DashboardQueue, role: Role, displayName: string): BullMQAdapter {
  const adapter = new BullMQAdapter(queue, {
    readOnlyMode: role === 'viewer',
    // Names tell the two apart.
    ...(role === 'viewer' && { prefix: 'view-' }),
    displayName,
    description: 'Submissions on their way to Postgres',
  });
  adapter.setFormatter('data', (data: unknown) =>
    // The list alone: bull-board folds what lies deeper.
    shownTo(
      role,
      readJobData(data)?.submissions ?? { state: 'not readable by this version' },
      'list',
    ),
  );
  adapter.setVisibilityGuard(({ headers }) => headers[ROLE_HEADER] === role);
  return adapter;
}

/** bull-board asks for as many jobs as the address says. */
function limitPage(query: unknown): void {
  if (typeof query !== 'object' || query === null || !('jobsPerPage' in query)) return;
  if (Number(query.jobsPerPage) > MOST_JOBS_A_PAGE) query.jobsPerPage = String(MOST_JOBS_A_PAGE);
}
