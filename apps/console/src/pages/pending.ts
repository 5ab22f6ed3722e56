import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { HELD_REASONS } from '@leadgate/contract';
import { loadNoun, Refusal, Uuid } from '@leadgate/operations';
import type { FailedJob, FailedReason } from '@leadgate/queue';
import type {
  HeldDetails,
  HeldState,
  HeldSummary,
  RejectedDetails,
  RejectedSummary,
} from '@leadgate/store';
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { acts } from '../gate.ts';
import { outputOf, perform } from '../perform.ts';
import { statusOf } from '../problem.ts';
import { idParams } from '../validate.ts';
import type { ApiServices } from '../services.ts';
import { action, countOf, html, type Html, older, tableOf, tabs, timeOf } from './html.ts';
import { sendPage } from './layout.ts';

const LISTED = 50;
const hide = true;

/** What is no lead yet: refused, held and failed posts, and the buttons on their pages. */
export const pendingPageRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (
  app,
  { connections },
) => {
  const [rejected, held, failed] = await Promise.all([
    loadNoun('rejected'),
    loadNoun('held'),
    loadNoun('failed'),
  ]);

  app.get('/rejected', { schema: { hide } }, async (_request, reply) => {
    const listed = await outputOf(reply, rejected.list, { limit: LISTED }, connections);
    return sendPage(reply, { title: 'Rejected', path: '/rejected', body: rejectedPage(listed) });
  });

  const showRejected = async (reply: FastifyReply, rejectedId: string, problem: string | null) => {
    const shown = await outputOf(reply, rejected.show, { rejectedId }, connections);
    const body = rejectedDetailsPage(shown, { acts: acts(reply.request), problem });
    return sendPage(reply, { title: 'Rejected post', path: '/rejected', body });
  };

  app.get(
    '/rejected/:rejectedId',
    { schema: { hide, params: idParams('rejectedId') } },
    (request, reply) => showRejected(reply, request.params.rejectedId, null),
  );

  app.post(
    '/rejected/:rejectedId/replay',
    {
      config: { operation: rejected.replay },
      schema: { hide, params: idParams('rejectedId') },
    },
    async (request, reply) => {
      const { rejectedId } = request.params;
      const done = await perform(reply, rejected.replay, { rejectedId }, connections);
      if (!(done instanceof Refusal)) return reply.redirect(`/rejected/${rejectedId}`, 303);
      return showRejected(reply.code(422), rejectedId, `Still refused: ${done.detail}`);
    },
  );

  app.get(
    '/held',
    {
      schema: {
        hide,
        querystring: Type.Object({
          state: held.list.input.properties.state,
          before: Type.Optional(Uuid),
        }),
      },
    },
    async (request, reply) => {
      const { state = 'held', before } = request.query;
      const listed = await outputOf(
        reply,
        held.list,
        { state, before, limit: LISTED },
        connections,
      );
      const more = listed.length === LISTED;
      const body = heldPage(listed, { state, acts: acts(request), more });
      return sendPage(reply, { title: 'Held', path: '/held', body });
    },
  );

  const showHeld = async (reply: FastifyReply, heldId: string, problem: string | null = null) => {
    const shown = await outputOf(reply, held.show, { heldId }, connections);
    const body = heldDetailsPage(shown, { acts: acts(reply.request), problem });
    return sendPage(reply, { title: 'Held post', path: '/held', body });
  };

  app.get('/held/:heldId', { schema: { hide, params: idParams('heldId') } }, (request, reply) =>
    showHeld(reply, request.params.heldId),
  );

  for (const verb of ['release', 'discard'] as const)
    app.post(
      `/held/:heldId/${verb}`,
      { config: { operation: held[verb] }, schema: { hide, params: idParams('heldId') } },
      async (request, reply) => {
        const { heldId } = request.params;
        const done =
          verb === 'release'
            ? await perform(reply, held.release, { heldId }, connections)
            : await perform(reply, held.discard, { heldId }, connections);
        if (!(done instanceof Refusal)) return reply.redirect('/held', 303);
        return showHeld(reply.code(statusOf(done.code)), heldId, done.detail);
      },
    );

  app.get('/failed', { schema: { hide } }, async (request, reply) => {
    const [reasons, newest] = await Promise.all([
      outputOf(reply, failed.reasons, {}, connections),
      outputOf(reply, failed.list, { limit: LISTED }, connections),
    ]);
    const body = failedPage({ reasons, newest }, acts(request));
    return sendPage(reply, { title: 'Failed', path: '/failed', body });
  });

  app.post(
    '/failed/retry',
    { config: { operation: failed.retryAll }, schema: { hide } },
    async (_request, reply) => {
      await outputOf(reply, failed.retryAll, {}, connections);
      return reply.redirect('/failed', 303);
    },
  );

  app.post(
    '/failed/:jobId/retry',
    {
      config: { operation: failed.retry },
      schema: { hide, params: Type.Object({ jobId: Type.String() }) },
    },
    async (request, reply) => {
      await perform(reply, failed.retry, request.params, connections);
      return reply.redirect('/failed', 303);
    },
  );
};

function rejectedPage(rejected: readonly RejectedSummary[]): Html {
  return html`<p class="soft">
      Posts that were answered 4xx, kept for 30 days: mend and replay them with leadgate rejected.
    </p>
    ${tableOf(
      ['When', 'Link', 'Answered', 'Wrong', 'Now'],
      rejected.map((one) => [
        html`<a href="/rejected/${one.rejectedId}">${timeOf(one.at)}</a>`,
        one.linkLabel ?? one.linkId.slice(0, 8),
        one.code,
        one.errors.map(({ pointer, code }) => `${pointer} ${code}`).join(', '),
        one.submissionId === null ? 'waits' : 'replayed',
      ]),
      'Nothing was refused.',
    )}`;
}

function rejectedDetailsPage(
  rejected: RejectedDetails,
  { acts, problem }: { acts: boolean; problem: string | null },
): Html {
  const { rejectedId, at, linkLabel, linkId, code, errors, body, mended, submissionId } = rejected;
  return html`<p class="soft">
      <code>${rejectedId}</code> · ${timeOf(at)} · ${linkLabel ?? linkId}
    </p>
    ${problem !== null && html`<p class="note bad" role="alert">${problem}</p>`}
    ${tableOf(
      ['Field', 'Code', 'What is wrong'],
      errors.map(({ pointer, code, detail }) => [pointer, code, detail]),
      code,
    )}
    <h2>As sent</h2>
    <pre class="card">${body}</pre>
    ${
      mended !== null &&
      html`<h2>As mended</h2>
        <pre class="card">${mended.body}</pre>`
    }
    ${
      submissionId === null
        ? acts && html`<p>${action(`/rejected/${rejectedId}/replay`, 'Replay it as it is now')}</p>`
        : html`<p>Replayed as submission <code>${submissionId}</code>.</p>`
    }`;
}

const STATES: [HeldState, string][] = [
  ['held', 'Waiting for you'],
  ['released', 'Released'],
  ['discarded', 'Discarded'],
];

function heldPage(
  held: readonly HeldSummary[],
  { state, acts, more }: { state: HeldState; acts: boolean; more: boolean },
): Html {
  const last = held.at(-1);
  return html`<p class="soft">
      Posts that were caught as spam. They were answered like any other, and are no leads until
      somebody releases them.
    </p>
    ${tabs(STATES.map(([name, title]) => [`/held?state=${name}`, title, name === state]))}
    ${tableOf(
      ['Posted', 'From', 'Why', 'Link', ...(acts ? ['Act'] : [])],
      held.map((one) => [
        html`<a href="/held/${one.heldId}">${timeOf(one.at)}</a>`,
        one.lead.name ?? one.lead.email ?? one.lead.telephone ?? null,
        one.reason,
        one.linkLabel ?? one.linkId.slice(0, 8),
        ...(acts ? [decisions(one)] : []),
      ]),
      'None.',
    )}
    ${more && last !== undefined && older(`/held?state=${state}&before=${last.heldId}`)}`;
}

function heldDetailsPage(
  held: HeldDetails,
  { acts, problem }: { acts: boolean; problem: string | null },
): Html {
  const { submission } = held;
  return html`<p class="soft">
      <code>${held.heldId}</code> · ${timeOf(held.at)} · ${held.linkLabel ?? held.linkId}
    </p>
    ${problem !== null && html`<p class="note bad" role="alert">${problem}</p>`}
    <p class="note">${HELD_REASONS[held.reason]}</p>
    ${tableOf(
      ['What', 'Value'],
      [
        ['State', held.state],
        ['Answered with lead', held.answeredLeadId],
        ['Page', submission.page ?? null],
        ['Address', submission.address ?? null],
        ['User agent', submission.userAgent ?? null],
      ],
      '',
    )}
    <h2>As sent</h2>
    <pre class="card">${submission.body}</pre>
    ${acts && html`<p>${decisions(held)}</p>`}`;
}

/** What was released is a submission now, and cannot be taken back. */
const decisions = ({ heldId, state }: HeldSummary): Html =>
  html`${state !== 'released' && action(`/held/${heldId}/release`, 'Release')}
  ${state === 'held' && action(`/held/${heldId}/discard`, 'Discard')}`;

function failedPage(
  { reasons, newest }: { reasons: readonly FailedReason[]; newest: readonly FailedJob[] },
  acts: boolean,
): Html {
  return html`<p class="soft">
      Submissions out of attempts. They are kept until somebody retries them, or discards them with
      leadgate failed.
    </p>
    ${acts && newest.length > 0 && html`<p>${action('/failed/retry', 'Retry all')}</p>`}
    <h2>By reason</h2>
    <p class="soft">Of the newest 5,000.</p>
    ${tableOf(
      ['Reason', 'How many', 'Oldest', 'Newest'],
      reasons.map(({ reason, jobs, oldest, newest }) => [
        reason,
        countOf(jobs),
        timeOf(oldest),
        timeOf(newest),
      ]),
      'None has failed.',
    )}
    <h2>Newest</h2>
    ${tableOf(
      ['When', 'Submission', 'Reason', ...(acts ? ['Act'] : [])],
      newest.map(({ jobId, reason, failedAt }) => [
        timeOf(failedAt),
        html`<code>${jobId}</code>`,
        reason,
        ...(acts ? [action(`/failed/${encodeURIComponent(jobId)}/retry`, 'Retry')] : []),
      ]),
      'None.',
    )}`;
}
