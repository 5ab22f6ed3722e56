import type { IncomingMessage } from 'node:http';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CaptureLink, ProblemCode } from '@leadgate/contract';
import {
  createRedisDeadline,
  MAX_WEIGHT,
  type Limits,
  type LimitUse,
  type WithinDeadline,
} from '@leadgate/intake';
import { acceptLead, type Outcome } from './accept-lead.ts';
import {
  addressLimitKey,
  addressOf,
  type Admission,
  admitAsked,
  admitKnown,
  nameOrigin,
  senderOf,
  setPreflightHeaders,
} from './admit.ts';
import { type ProblemDetails, sendProblem, sendThanksPage, wantsPage } from './answer.ts';
import type { ReceiverServices } from './app.ts';
import {
  type BodyText,
  type MediaType,
  readMediaType,
  receiveBody,
  type ReceivedBody,
} from './body.ts';
import { ingestSchema } from './schema.ts';

/** What is known of a post before its body. */
interface Arrival {
  within: WithinDeadline;
  /** Milliseconds since 1970. */
  receivedAt: number;
  address: string | null;
  link: CaptureLink;
  linkUse: LimitUse;
  addressUse: LimitUse;
  mediaType: MediaType;
}

declare module 'fastify' {
  interface FastifyRequest {
    arrival: Arrival | null;
    /** The link that it was posted to, also if it was turned away. */
    postedTo: CaptureLink | null;
    isSpooled: boolean;
  }
}

/** Milliseconds that one request may wait for Redis, all in all. */
export const REDIS_ALLOWANCE_MS = 700;

type IngestRequest = FastifyRequest<{ Params: { code: string } }>;

/** POST /ingest/:code, and its preflight. */
export const ingestRoutes: FastifyPluginAsyncTypebox<ReceiverServices> = async (app, services) => {
  app.decorateRequest('arrival', null);
  app.decorateRequest('postedTo', null);
  app.decorateRequest('isSpooled', false);
  // The body is parsed by its link's rules; Fastify's parsers refuse too much.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request: FastifyRequest, payload: IncomingMessage) =>
    receiveBody(payload, arrivalOf(request).mediaType),
  );

  // Whoever guesses codes is counted in this process only: there is no workspace to count in.
  const overGuessLimit = (request: FastifyRequest) =>
    secondsToWait(services.limits, {
      workspaceId: null,
      key: addressLimitKey(addressOf(request)),
      max: services.config.RATE_LIMIT_ADDRESS,
    });

  app.options<{ Params: { code: string } }>(
    '/ingest/:code',
    { schema: { hide: true } },
    (request, reply) => {
      const link = services.directory.peek(request.params.code);
      setPreflightHeaders(reply);
      if (link !== null) nameOrigin(reply, link, request.headers.origin);
      return reply.code(204).send();
    },
  );

  app.post(
    '/ingest/:code',
    {
      schema: ingestSchema,
      validatorCompiler: () => () => true,
      onRequest: arrive,
    },
    async (request, reply) => {
      const arrival = arrivalOf(request);
      const body = (request.body as ReceivedBody | undefined) ?? NOTHING;
      if (body.kind === 'malformed-form') return sendProblem(reply, body.kind);
      if (body.kind === 'too-large') {
        if (!body.drained) reply.header('connection', 'close');
        return sendProblem(reply, 'body-too-large');
      }
      const lenient = prefersLenient(request.headers.prefer);
      const limits = weighed([arrival.linkUse, arrival.addressUse], body);
      const outcome = await acceptLead(services, arrival.within, {
        submissionId: request.id,
        code: request.params.code,
        link: arrival.link,
        limits,
        joinLimit: joinLimitOf(arrival.addressUse),
        body,
        headers: request.headers,
        idempotencyKey: request.headers['idempotency-key'],
        lenient,
        receivedAt: arrival.receivedAt,
        sender: senderOf(request.headers, arrival.address, services.config.KEEP_ADDRESS),
      });
      if (outcome.kind === 'refused' && outcome.code !== 'rate-limited')
        for (const { key, weight = 1 } of limits) {
          const uses = Math.max(weight, outcome.uses ?? 1);
          services.limits.spend(arrival.link.workspaceId, key, uses - 1);
        }
      if (lenient) reply.header('preference-applied', 'handling=lenient');
      return answer(request, reply, outcome);
    },
  );

  // Before the body is read, and without a promise unless the code has to be asked for.
  function arrive(
    request: IngestRequest,
    reply: FastifyReply,
    next: (error?: Error) => void,
  ): void {
    const within = createRedisDeadline(REDIS_ALLOWANCE_MS);
    const receivedAt = services.clock();
    const post = {
      code: request.params.code,
      origin: request.headers.origin,
      now: receivedAt,
    };
    const go = (admission: Admission) => goOn(request, reply, admission, { within, receivedAt });
    const end = (refusal: Refusal | null): void => {
      if (refusal === null) next();
      else sendProblem(reply, ...refusal);
    };
    const known = admitKnown(services.directory, post);
    if (known !== null) return end(go(known));
    admitAsked(services.directory, within, post)
      .then(go, (error: unknown): Refusal => {
        services.onFailure('link-not-looked-up', error);
        return ['unavailable'];
      })
      // What is thrown here ends no process: it is answered, as of a hook that is a promise.
      .then(end, next);
  }

  /** Sets what is known of a post that may go on; else why it may not. */
  function goOn(
    request: IngestRequest,
    reply: FastifyReply,
    admission: Admission,
    { within, receivedAt }: Pick<Arrival, 'within' | 'receivedAt'>,
  ): Refusal | null {
    switch (admission.kind) {
      case 'not-known-yet':
        return ['unavailable'];
      case 'unknown-link': {
        const retryAfterSeconds = overGuessLimit(request);
        return retryAfterSeconds === null
          ? ['unknown-link']
          : ['rate-limited', { retryAfterSeconds }];
      }
      case 'turned-away':
        request.postedTo = admission.link;
        nameOrigin(reply, admission.link, request.headers.origin);
        return [admission.code];
      case 'admitted':
        break;
    }
    const { link } = admission;
    request.postedTo = link;
    nameOrigin(reply, link, request.headers.origin);
    const address = addressOf(request);
    const linkUse = {
      key: `link:${link.linkId}`,
      max: link.linkLimit ?? services.config.RATE_LIMIT_LINK,
    };
    const addressUse = {
      key: addressLimitKey(address),
      max: link.addressLimit ?? services.config.RATE_LIMIT_ADDRESS,
    };
    // The address first: what is over its limit must not use up the link's.
    const { workspaceId } = link;
    const over = ({ key, max }: LimitUse) =>
      secondsToWait(services.limits, { workspaceId, key, max });
    const retryAfterSeconds = over(addressUse) ?? over(linkUse);
    if (retryAfterSeconds !== null) return ['rate-limited', { retryAfterSeconds }];
    const mediaType = readMediaType(request.headers);
    if (mediaType === null) return ['unsupported-media-type'];
    request.arrival = { within, receivedAt, address, link, linkUse, addressUse, mediaType };
    return null;
  }
};

/** Of `sendProblem`. */
type Refusal = [code: ProblemCode, details?: ProblemDetails];

const NOTHING: BodyText = { kind: 'read', text: '', type: 'json', notes: [] };

/** Set by `findLink`, or the request has been answered. */
function arrivalOf({ arrival }: FastifyRequest): Arrival {
  if (arrival === null) throw new Error('a post was handled before its link was found');
  return arrival;
}

function answer(request: FastifyRequest, reply: FastifyReply, outcome: Outcome): FastifyReply {
  if (outcome.kind === 'refused') return sendProblem(reply, outcome.code, outcome);
  const { link } = arrivalOf(request);
  request.answer = 'accepted';
  request.isSpooled = outcome.spooled === true;
  reply.header('submission-id', outcome.submissionId);
  if (wantsPage(request.method, request.headers)) {
    if (link.redirectUrl !== null) return reply.redirect(link.redirectUrl, 303);
    return sendThanksPage(reply.code(202));
  }
  const { leadId, leads } = outcome;
  return reply.code(202).send(leads === undefined ? { leadId } : { leadId, leads });
}

/** One limit that a request falls under: within a workspace, or in this process only. */
interface CountedUse extends LimitUse {
  workspaceId: string | null;
}

/**
 * Counts a request against a limit: the seconds to wait if it is exceeded, else null. Counted is
 * the local estimate, which reservations keep close to the exact counts in Redis: a flood is answered
 * without asking Redis, and what is let through the reservation counts exactly.
 */
export function secondsToWait(
  limits: Pick<Limits, 'count'>,
  { workspaceId, key, max }: CountedUse,
): number | null {
  const { current, ttlMs } = limits.count(workspaceId, key, max);
  return current > max ? Math.ceil(ttlMs / 1_000) : null;
}

/**
 * What a body may have and count as one post: several times what a lead has. All of it is kept, and
 * limits are of posts, so a longer one counts as several.
 */
const BYTES_OF_A_POST = 2_048;

function weighed(uses: LimitUse[], { text }: BodyText): LimitUse[] {
  const posts = Math.ceil(Buffer.byteLength(text) / BYTES_OF_A_POST);
  const weight = Math.min(Math.max(1, posts), MAX_WEIGHT);
  return weight === 1 ? uses : uses.map((use) => ({ ...use, weight }));
}

/**
 * Posts for one that may bring together what was known apart: an honest campaign has one in fifty of
 * them, or fewer, and who asks whether people are known has nothing else (decision 36).
 */
const POSTS_FOR_A_JOIN = 50;

/** Of an address: its limit of posts that bring identities together, from that of posts. */
function joinLimitOf({ key, max }: LimitUse): LimitUse {
  return { key: `join:${key}`, max: Math.ceil(max / POSTS_FOR_A_JOIN) };
}

/**
 * Whether a Prefer header asks for lenient handling (RFC 7240, section 4.4): `handling=lenient` in
 * its list, names in any case, the value quoted or not, parameters ignored. Of a preference that is
 * given twice the first counts (section 2).
 */
export function prefersLenient(header: string | string[] | undefined): boolean {
  if (header === undefined) return false;
  for (const preference of String(header).split(',')) {
    const [token = ''] = preference.split(';');
    const [name = '', value = ''] = token.split('=');
    if (name.trim().toLowerCase() !== 'handling') continue;
    return (
      value
        .trim()
        .replace(/^"(.*)"$/, '$1')
        .toLowerCase() === 'lenient'
    );
  }
  return false;
}
