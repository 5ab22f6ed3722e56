import type { FastifyRequest } from 'fastify';

/**
 * Whether a browser made this request from a page of this console. The second lock beside the
 * same-site cookie, which holds where a sister domain is hostile. Browsers send Sec-Fetch-Site since
 * 2023; older ones, and any over plain http, send Origin. A request with neither is not believed.
 */
export function isSameOrigin(request: FastifyRequest): boolean {
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const { origin } = request.headers;
  if (origin === undefined || !URL.canParse(origin)) return false;
  return new URL(origin).host === request.host;
}
