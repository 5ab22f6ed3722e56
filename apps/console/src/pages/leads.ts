import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { LEAD_FIELDS } from '@leadgate/contract';
import { loadNoun, Uuid } from '@leadgate/operations';
import type { QueueCounts } from '@leadgate/queue';
import type { DuplicatePair, DuplicateSide, LeadDetails, LeadSummary } from '@leadgate/store';
import { Type } from 'typebox';
import { acts } from '../gate.ts';
import { outputOf } from '../perform.ts';
import { ProblemError } from '../problem.ts';
import type { ApiServices } from '../services.ts';
import {
  action,
  card,
  countOf,
  durationOf,
  html,
  type Html,
  older,
  tableOf,
  timeOf,
} from './html.ts';
import { sendPage } from './layout.ts';

const LISTED = 50;
const Two = Type.Object({ workspaceId: Uuid, leadId: Uuid, otherId: Uuid });
const hide = true;

/** The overview and possible duplicates, and the buttons on their pages. */
export const leadPageRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (
  app,
  { connections },
) => {
  const [lead, queue] = await Promise.all([loadNoun('lead'), loadNoun('queue')]);

  app.get('/', { schema: { hide } }, async (request, reply) => {
    const [standing, leads] = await Promise.all([
      orNull(outputOf(reply, queue.show, {}, connections)),
      orNull(outputOf(reply, lead.newest, { limit: 20 }, connections)),
    ]);
    const body = overviewPage({ queue: standing, leads, acts: acts(request) });
    return sendPage(reply, { title: 'Overview', path: '/', body });
  });

  app.get(
    '/duplicates',
    {
      schema: {
        hide,
        querystring: Type.Object({ after: Type.Optional(Type.String({ maxLength: 100 })) }),
      },
    },
    async (request, reply) => {
      const input = { after: request.query.after, limit: LISTED };
      const pairs = await outputOf(reply, lead.duplicates, input, connections);
      const body = duplicatesPage(pairs, pairs.length === LISTED);
      return sendPage(reply, { title: 'Possible duplicates', path: '/duplicates', body });
    },
  );

  app.get(
    '/duplicates/:workspaceId/:leadId/:otherId',
    { schema: { hide, params: Two } },
    async (request, reply) => {
      const { leadId, otherId, workspaceId } = request.params;
      const [one, other] = await Promise.all([
        outputOf(reply, lead.show, { leadId, history: 1 }, connections),
        outputOf(reply, lead.show, { leadId: otherId, history: 1 }, connections),
      ]);
      if (one.workspaceId !== workspaceId || other.workspaceId !== workspaceId)
        throw new ProblemError('not-found');
      if (one.leadId === other.leadId) return reply.redirect(`/leads/${one.leadId}`, 303);
      const body = comparePage([one, other], acts(request));
      return sendPage(reply, { title: 'Are they one person?', path: '/duplicates', body });
    },
  );

  app.post(
    '/duplicates/:workspaceId/:leadId/merge/:otherId',
    { config: { operation: lead.merge }, schema: { hide, params: Two } },
    async (request, reply) => {
      const { leadId } = await outputOf(reply, lead.merge, request.params, connections);
      return reply.redirect(`/leads/${leadId}`, 303);
    },
  );

  for (const verb of ['pause', 'resume'] as const)
    app.post(
      `/queue/${verb}`,
      { config: { operation: queue[verb] }, schema: { hide } },
      async (_request, reply) => {
        await outputOf(reply, queue[verb], {}, connections);
        return reply.redirect('/', 303);
      },
    );
};

/** A page about an outage must not need what is away. */
function orNull<T>(promise: Promise<T>): Promise<T | null> {
  return promise.catch(() => null);
}

/** How the service stands. Null if a server does not answer. */
interface Standing {
  queue: (QueueCounts & { oldestWaitingMs: number | null }) | null;
  leads: LeadSummary[] | null;
  acts: boolean;
}

/** An age at which somebody should look, and one at which somebody should act. Milliseconds. */
const AGE = { warn: 60_000, bad: 300_000 };

function overviewPage({ queue, leads, acts }: Standing): Html {
  return html`
    ${
      queue === null &&
      html`<p class="note bad">Redis does not answer: how the queue stands is not known.</p>`
    }
    ${
      leads === null &&
      html`<p class="note bad">
        Postgres does not answer. Leads are still taken: they wait in the queue.
      </p>`
    }
    ${
      queue?.paused === true &&
      html`<p class="note">
        The queue is paused: leads are taken and wait. ${acts && action('/queue/resume', 'Resume')}
      </p>`
    }
    ${queue !== null && queueCards(queue)}
    ${queue?.paused === false && acts && html`<p>${action('/queue/pause', 'Pause the queue')}</p>`}
    <h2>Newest leads</h2>
    ${leads === null ? html`<p class="soft">Not known now.</p>` : leadTable(leads)}
  `;
}

function queueCards(queue: NonNullable<Standing['queue']>): Html {
  const age = queue.oldestWaitingMs;
  const state = age === null || age < AGE.warn ? 'good' : age < AGE.bad ? 'warn' : 'bad';
  return html`<div class="cards">
    ${card('Oldest waiting', age === null ? 'none' : durationOf(age), state)}
    ${card('Waiting', countOf(queue.waiting))} ${card('Being applied', countOf(queue.active))}
    ${card('To be tried again', countOf(queue.delayed))}
    ${card('Failed', countOf(queue.failed), queue.failed > 0 ? 'bad' : 'good')}
  </div>`;
}

/** Leads with a link to each. */
function leadTable(leads: readonly LeadSummary[]): Html {
  return tableOf(
    ['Lead', 'Email', 'Telephone', 'Workspace', 'Changed'],
    leads.map((lead) => [
      html`<a href="/leads/${lead.leadId}">${lead.name ?? lead.leadId.slice(0, 8)}</a>`,
      lead.email ?? null,
      lead.telephone ?? null,
      lead.workspace,
      timeOf(lead.updatedAt),
    ]),
    'No lead yet.',
  );
}

function duplicatesPage(pairs: readonly DuplicatePair[], more: boolean): Html {
  const last = pairs.at(-1);
  return html`<p class="soft">
      Leads that one submission named at once: its email is of the one, its phone of the other.
    </p>
    ${tableOf(
      ['First seen', 'One', 'Other', 'Look'],
      pairs.map(({ workspaceId, a, b, since }) => [
        timeOf(since),
        sideOf(a),
        sideOf(b),
        html`<a href="/duplicates/${workspaceId}/${a.leadId}/${b.leadId}">Compare</a>`,
      ]),
      'None.',
    )}
    ${more && last !== undefined && older(`/duplicates?after=${last.pair}`)}`;
}

const sideOf = ({ leadId, name, email, telephone }: DuplicateSide): Html =>
  html`<a href="/leads/${leadId}">${name ?? leadId.slice(0, 8)}</a
    >${email !== null && html` · ${email}`}${telephone !== null && html` · ${telephone}`}`;

/** Two leads beside each other, and which of them is to stay. */
function comparePage(sides: readonly [LeadDetails, LeadDetails], acts: boolean): Html {
  const [one, other] = sides;
  const row = (what: string, of: (lead: LeadDetails) => Html | string | number | null) =>
    [what, of(one), of(other)] as [string, ReturnType<typeof of>, ReturnType<typeof of>];
  const fields = LEAD_FIELDS.filter((field) => sides.some((lead) => lead[field] !== undefined));
  return html`<p class="soft">
      Merging joins both histories: of each field the latest value stands, the other stays in the
      history, and both ids are of the one lead then. It cannot be undone.
    </p>
    ${tableOf(
      ['Field', 'One', 'Other'],
      [
        row('Lead', ({ leadId }) => html`<a href="/leads/${leadId}">${leadId.slice(0, 8)}</a>`),
        row('First seen', ({ createdAt }) => timeOf(createdAt)),
        row('Submissions', ({ submissions }) => submissions),
        ...fields.map((field) => row(field, (lead) => lead[field] ?? null)),
        row('Identities', ({ identities }) => identities.map(({ value }) => value).join(', ')),
        ...(acts
          ? [
              row('Merge', (kept) =>
                action(
                  `/duplicates/${one.workspaceId}/${kept.leadId}/merge/${
                    kept === one ? other.leadId : one.leadId
                  }`,
                  'Keep this id',
                ),
              ),
            ]
          : []),
      ],
      '',
    )}`;
}
