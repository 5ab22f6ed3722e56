import type { RejectedDetails, RejectedSummary } from '@leadgate/store';
import { html, type Html } from './html.ts';
import { action, tableOf, timeOf } from './parts.ts';

export function rejectedPage(rejected: readonly RejectedSummary[]): Html {
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

export function rejectedDetailsPage(
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
