import type { FailedJob, FailedReason } from '@leadgate/queue';
import { html, type Html } from './html.ts';
import { action, countOf, tableOf, timeOf } from './parts.ts';

export function failedPage(
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
