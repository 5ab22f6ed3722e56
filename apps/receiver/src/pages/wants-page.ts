import type { IncomingHttpHeaders } from 'node:http';
import { acceptedValues } from './accepted-values.ts';

/**
 * Whether a person looks at the answer to this post: a form that the browser sent by itself. It says
 * that it likes HTML better than JSON, and a form is never JSON. A script that does not say what it
 * likes (any type) gets JSON.
 */
export function wantsPage(method: string, headers: IncomingHttpHeaders): boolean {
  if (method !== 'POST' || /json/i.test(headers['content-type'] ?? '')) return false;
  const accepted = acceptedValues(headers.accept);
  const weightOf = (type: string) => accepted.find(({ value }) => value === type)?.weight ?? 0;
  return weightOf('text/html') > weightOf('application/json');
}
