import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import {
  acceptOrSpool,
  type Consenter,
  createRedisDeadline,
  readConsenter,
  withdrawalOf,
} from '@leadgate/intake';
import { languageOf, sendConsentPage } from './answer.ts';
import type { ReceiverServices } from './app.ts';
import { REDIS_ALLOWANCE_MS, secondsToWait } from './ingest.ts';
import { addressLimitKey, addressOf, senderOf } from './admit.ts';

/** A button sends nothing; a mail program sends `List-Unsubscribe=One-Click` (RFC 8058). */
const LONGEST_BODY = 1_024;

type ConsentRequest = FastifyRequest<{ Params: { token: string } }>;

/**
 * GET and POST /consent/:token: a person withdraws what they granted, by a link that the service signed.
 * Looking changes nothing, as mail programs look at every link. The withdrawal goes the way of a lead: it is
 * durable when the page says that it was taken, also while Redis is away.
 */
export const consentRoutes: FastifyPluginAsync<ReceiverServices> = (app, services) => {
  const { config } = services;
  const secrets = [config.CONSENT_KEY, config.CONSENT_KEY_BEFORE].filter(
    (secret) => secret !== undefined,
  );
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    '*',
    { parseAs: 'string', bodyLimit: LONGEST_BODY },
    (_request, _body, done) => done(null),
  );
  const schema = { hide: true };
  app.get<{ Params: { token: string } }>('/consent/:token', { schema }, (request, reply) => {
    const asked = ask(request, reply);
    return 'sent' in asked ? asked.sent : sendConsentPage(reply, 'ask');
  });

  app.post<{ Params: { token: string } }>('/consent/:token', { schema }, async (request, reply) => {
    const asked = ask(request, reply);
    if ('sent' in asked) return asked.sent;
    const accepted = await acceptOrSpool(
      services,
      {
        ...withdrawalOf(asked.consenter, {
          submissionId: request.id,
          language: languageOf(request),
          ...senderOf(request.headers, addressOf(request), config.KEEP_ADDRESS),
        }),
        limits: [asked.use],
      },
      { within: createRedisDeadline(REDIS_ALLOWANCE_MS), maySpool: () => true },
    );
    if (accepted.kind === 'accepted') return sendConsentPage(reply, 'withdrawn');
    const seconds = accepted.kind === 'limited' ? accepted.retryAfterSeconds : 5;
    return later(reply, accepted.kind === 'limited' ? 429 : 503, seconds);
  });
  return Promise.resolve();

  /** Who asks by a link of ours, or what was sent because they may not. */
  function ask(request: ConsentRequest, reply: FastifyReply) {
    const use = { key: addressLimitKey(addressOf(request)), max: config.RATE_LIMIT_ADDRESS };
    const consenter: Consenter | null = readConsenter(secrets, request.params.token);
    const { limits } = services;
    const seconds = secondsToWait(limits, { workspaceId: consenter?.workspaceId ?? null, ...use });
    if (seconds !== null) return { sent: later(reply, 429, seconds) };
    if (consenter === null) return { sent: sendConsentPage(reply.code(404), 'unknown') };
    return { consenter, use };
  }
};

function later(reply: FastifyReply, status: 429 | 503, seconds: number): FastifyReply {
  return sendConsentPage(reply.code(status).header('retry-after', seconds), 'later');
}
