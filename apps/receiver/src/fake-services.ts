import { createLogger } from '@leadgate/boot';
import type { CaptureLink, Submission } from '@leadgate/contract';
import type { RejectedBody, Reservation, ReservationRequest } from '@leadgate/intake';
import type { FastifyBaseLogger, FastifyInstance, InjectOptions } from 'fastify';
import type { Answer } from './answer.ts';
import { receiverApp } from './app.ts';
import { makeAsset } from './assets/asset.ts';
import { createServer } from './server.ts';
import type { ReceiverServices } from './services.ts';

export const CODE = 'q7Zt2mB1y4nK8sV0xWcR5A';
export const NOW = Date.UTC(2026, 10, 27, 12);

export const LINK: CaptureLink = {
  linkId: '0d5b6b44-6a3e-4a55-9b4d-6a8c1f1d0a01',
  workspaceId: '5c1f2c1e-5d0a-4c39-8c52-8a8d3f0b7a02',
  country: 'BR',
  dummyPhones: [],
  state: 'open',
  expiresAt: null,
  mode: 'strict',
  requireIdentity: false,
  origins: [],
  allowServers: false,
  redirectUrl: null,
  linkLimit: null,
  addressLimit: null,
};

/** A receiver on fakes that remember what they were given. */
export interface FakeReceiver {
  app: FastifyInstance;
  services: ReceiverServices;
  reserved: ReservationRequest[];
  enqueued: Submission[];
  rejected: RejectedBody[];
  answers: Answer[];
  /** The only lead that was enqueued. */
  submission(): Submission;
  post(body: string | object | Buffer, options?: Omit<InjectOptions, 'method' | 'body'>): Response;
}

type Response = ReturnType<FastifyInstance['inject']> &
  Promise<Awaited<ReturnType<FastifyInstance['inject']>>>;

export interface FakeOptions {
  link?: Partial<CaptureLink>;
  services?: Partial<ReceiverServices>;
  server?: Partial<Parameters<typeof createServer>[0]>;
  logger?: FastifyBaseLogger;
}

export async function fakeReceiver(options: FakeOptions = {}): Promise<FakeReceiver> {
  const link = { ...LINK, ...options.link };
  const reserved: ReservationRequest[] = [];
  const enqueued: Submission[] = [];
  const rejected: RejectedBody[] = [];
  const answers: Answer[] = [];
  const counts = new Map<string, number>();
  const services: ReceiverServices = {
    config: { RATE_LIMIT_LINK: 60_000, RATE_LIMIT_ADDRESS: 6_000, KEEP_ADDRESS: 'full' },
    directory: {
      find: (code) =>
        Promise.resolve(code === CODE ? { kind: 'found', link } : { kind: 'unknown' }),
      peek: (code) => (code === CODE ? link : null),
    },
    limits: {
      count(workspaceId, key) {
        const name = `${workspaceId ?? ''} ${key}`;
        counts.set(name, (counts.get(name) ?? 0) + 1);
        return { current: counts.get(name) ?? 0, ttlMs: 30_000 };
      },
    },
    reserver: {
      reserve(request) {
        reserved.push(request);
        return Promise.resolve(reservationOf(request, NOW * 1_000 + reserved.length));
      },
    },
    producer: {
      enqueue(submission) {
        enqueued.push(submission);
        return Promise.resolve();
      },
    },
    breaker: { run: (ask) => ask() },
    backpressure: () => null,
    spool: null,
    isOnDisk: () => true,
    verifyCaptcha: () => Promise.resolve('passed'),
    pushRejected(body) {
      rejected.push(body);
      return Promise.resolve();
    },
    health: {
      readiness: () => Promise.resolve({ ready: true, reasons: [], warnings: [] }),
      stop: () => undefined,
    },
    demo: null,
    snippet: makeAsset(Buffer.from('leadgate()'), 'text/javascript; charset=utf-8'),
    clock: () => NOW,
    onTrouble: () => undefined,
    onAnswer: (answer) => void answers.push(answer),
    ...options.services,
  };
  const app = createServer(
    {
      TRUST_PROXY: [],
      REQUEST_TIMEOUT_MS: 10_000,
      KEEP_ALIVE_TIMEOUT_MS: 72_000,
      ...options.server,
    },
    options.logger ?? createLogger({ name: 'test', level: 'silent', pretty: false }),
  );
  await app.register(receiverApp, services);
  await app.ready();
  return {
    app,
    services,
    reserved,
    enqueued,
    rejected,
    answers,
    submission() {
      const [first, ...rest] = enqueued;
      if (first === undefined || rest.length > 0)
        throw new Error(`${enqueued.length} leads were enqueued`);
      return first;
    },
    post: (body, inject = {}) =>
      app.inject({
        method: 'POST',
        url: `/ingest/${CODE}`,
        ...inject,
        headers: { 'content-type': 'application/json', ...inject.headers },
        body,
      }) as Response,
  };
}

/** Everything is new: each key is owned by the offered lead. */
export function reservationOf(
  request: ReservationRequest,
  order: number,
): Extract<Reservation, { kind: 'reserved' }> {
  return {
    kind: 'reserved',
    leadId: request.offeredLeadId,
    identities:
      request.held === undefined
        ? request.identityKeys.map((key) => ({ key, owner: request.offeredLeadId }))
        : [],
    order,
  };
}
