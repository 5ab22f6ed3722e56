import type { ConsentRecord } from '@leadgate/store';
import { table } from './table.ts';
import { shortTime } from './time.ts';

/** Consents with what proves them; nothing where there are none. */
export function consentTable(consents: readonly ConsentRecord[]): string {
  if (consents.length === 0) return '';
  return table(
    ['consent', 'to', 'at', 'page', 'address', 'user agent', 'by submission'],
    consents.map(({ given, text, textVersion, at, page, address, userAgent, submissionId }) => [
      given ? 'given' : 'not given',
      [textVersion, text].filter((words) => words !== undefined).join(': '),
      shortTime(at),
      page,
      address,
      userAgent,
      submissionId,
    ]),
  );
}
