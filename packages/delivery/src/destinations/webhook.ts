import { signedHeaders, signingKey } from '../signature.ts';
import { verdictOn } from '../verdict.ts';
import type { Destination, DestinationSettings, News, Request } from './destination.ts';

/** An address that is posted signed messages (Standard Webhooks), and keeps the highest version. */
export function webhook({
  endpointId,
  url,
  headers,
  secrets,
}: Omit<DestinationSettings, 'mapping'>): Destination {
  const keys = secrets.map(signingKey);
  const always = { ...headers, 'content-type': 'application/json', 'user-agent': 'Leadgate' };
  const read: Request['read'] = (result, now) => ({
    verdict: verdictOn(result, now),
    remoteId: null,
  });
  const message = (id: string, content: object): Request => {
    const body = Buffer.from(JSON.stringify(content));
    const seconds = Math.floor(Date.now() / 1_000);
    return {
      kind: 'send',
      url,
      headers: signedHeaders(keys, { id, seconds, body }, always),
      body,
      read,
    };
  };
  const news = ({ id, event, timestamp, data }: News) =>
    message(id, { type: event, timestamp, data });
  return {
    lead: news,
    alarm: news,
    test: (id) =>
      message(id, {
        ...{ type: 'endpoint.test', timestamp: new Date().toISOString(), data: { endpointId } },
      }),
    confirmAfterMs: null,
  };
}
