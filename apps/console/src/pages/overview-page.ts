import type { QueueCounts } from '@leadgate/queue';
import type { LeadSummary } from '@leadgate/store';
import { html, type Html } from './html.ts';
import { leadTable } from './lead-pages.ts';
import { action, card, countOf, durationOf } from './parts.ts';

/** How the service stands. Null where a server does not answer. */
export interface Standing {
  queue: (QueueCounts & { oldestWaitingMs: number | null }) | null;
  leads: LeadSummary[] | null;
  acts: boolean;
}

/** An age at which somebody should look, and one at which somebody should act. Milliseconds. */
const AGE = { warn: 60_000, bad: 300_000 };

export function overviewPage({ queue, leads, acts }: Standing): Html {
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
