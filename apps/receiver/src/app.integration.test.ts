import type { FastifyBaseLogger } from 'fastify';
import { describe, expect, test } from 'vitest';
import { CODE, openApp, LINK } from '../test/receiver.ts';

const ORIGIN = 'https://shop.example.com';
const PREFLIGHT = {
  origin: ORIGIN,
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'content-type,idempotency-key',
};

describe('an address', () => {
  test.each(['GET', 'PUT', 'PATCH', 'DELETE', 'HEAD'] as const)(
    'of a link takes no %s, and says what it takes',
    async (method) => {
      const { app } = await openApp();
      const answer = await app.inject({ method, url: `/ingest/${CODE}?x=1` });
      expect(answer.statusCode).toBe(405);
      expect(answer.headers.allow).toBe('POST, OPTIONS');
      if (method !== 'HEAD') expect(answer.json()).toMatchObject({ code: 'method-not-allowed' });
    },
  );

  test.each(['/', '/ingest', '/ingest/', '/ingest/a/b', '/admin', '/ingest/%zz', '/openapi.json'])(
    'that is not there (%s) is 404',
    async (url) => {
      const { app } = await openApp();
      const answer = await app.inject({ method: 'POST', url, body: { a: 1 } });
      expect(answer.json()).toMatchObject({ status: 404, code: 'not-found' });
      expect(answer.headers['content-type']).toMatch(/^application\/problem\+json/);
      expect(answer.headers['access-control-allow-origin']).toBe('*');
    },
  );
});

describe('a preflight', () => {
  test('allows what the page may send, and asks no server', async () => {
    const receiver = await openApp({
      services: {
        directory: { find: () => Promise.reject(new Error('asked')), peek: () => null },
      },
    });
    const answer = await receiver.app.inject({
      method: 'OPTIONS',
      url: '/ingest/anything',
      headers: PREFLIGHT,
    });
    expect(answer.statusCode).toBe(204);
    expect(answer.body).toBe('');
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'Content-Type, Idempotency-Key, Prefer',
      'access-control-max-age': '7200',
    });
    expect(receiver.answers).toEqual([]);
  });

  test.each([
    [
      'traceparent,baggage,sentry-trace',
      'Content-Type, Idempotency-Key, Prefer, traceparent, baggage, sentry-trace',
    ],
    [
      'x-datadog-trace-id , content-type',
      'Content-Type, Idempotency-Key, Prefer, x-datadog-trace-id',
    ],
    ['', 'Content-Type, Idempotency-Key, Prefer'],
    ['a b', 'Content-Type, Idempotency-Key, Prefer'],
    ['x'.repeat(101), 'Content-Type, Idempotency-Key, Prefer'],
    [
      Array.from({ length: 65 }, (_, n) => `x-${n}`).join(),
      'Content-Type, Idempotency-Key, Prefer',
    ],
  ])('that asks for %j may send it, within bounds', async (asked, allowed) => {
    const { app } = await openApp();
    const headers = { ...PREFLIGHT, 'access-control-request-headers': asked };
    const answer = await app.inject({ method: 'OPTIONS', url: `/ingest/${CODE}`, headers });
    expect(answer.headers['access-control-allow-headers']).toBe(allowed);
  });

  test('of a link with a list names the origin that asks, so that it can read the answer to its post', async () => {
    const { app } = await openApp({ link: { origins: [ORIGIN] } });
    const ask = (origin: string) =>
      app.inject({ method: 'OPTIONS', url: `/ingest/${CODE}`, headers: { ...PREFLIGHT, origin } });
    expect((await ask(ORIGIN)).headers).toMatchObject({
      'access-control-allow-origin': ORIGIN,
      vary: 'Origin',
    });
    const other = await ask('https://evil.example.com');
    expect(other.headers).toMatchObject({
      'access-control-allow-origin': 'https://evil.example.com',
      vary: 'Origin',
    });
  });

  test('that is only an OPTIONS is answered too', async () => {
    const { app } = await openApp();
    const answer = await app.inject({ method: 'OPTIONS', url: `/ingest/${CODE}` });
    expect(answer.statusCode).toBe(204);
    expect(answer.headers.allow).toBe('POST, OPTIONS');
  });
});

describe('CORS headers', () => {
  test.each([
    [202, '{}', `/ingest/${CODE}`, 'application/json'],
    [400, '{', `/ingest/${CODE}`, 'application/json'],
    [404, '{}', '/ingest/nope', 'application/json'],
    [413, `"${'x'.repeat(70_000)}"`, `/ingest/${CODE}`, 'application/json'],
    [415, '{}', `/ingest/${CODE}`, 'text/html'],
    [422, '[]', `/ingest/${CODE}`, 'application/json'],
  ])('stand on %d', async (status, body, url, type) => {
    const receiver = await openApp();
    const answer = await receiver.post(body, {
      url,
      headers: { origin: ORIGIN, 'content-type': type },
    });
    expect(answer.statusCode).toBe(status);
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-expose-headers': 'Retry-After, Submission-Id',
    });
  });
});

describe('the log', () => {
  function listeningLogger(): { logger: FastifyBaseLogger; lines: unknown[][] } {
    const lines: unknown[][] = [];
    const line = (...args: unknown[]): void => void lines.push(args);
    const logger: FastifyBaseLogger = {
      level: 'trace',
      ...{ fatal: line, error: line, warn: line, info: line, debug: line, trace: line },
      silent: line,
      child: () => logger,
    };
    return { logger, lines };
  }

  test('at its most talkative names the submission and the link, and nobody', async () => {
    const { logger, lines } = listeningLogger();
    const receiver = await openApp({ logger });
    const url = `/ingest/${CODE}?email=query@example.com`;
    const headers = { referer: 'https://page.example.com/', 'idempotency-key': 'secret-key' };
    await receiver.post({ email: 'ana@example.com' }, { url, headers });
    await receiver.post({ email: 'not-an-email' }, { url, headers });
    await receiver.post({}, { url: '/ingest/some-code' });
    const text = JSON.stringify(lines);
    for (const word of ['accepted', 'invalid-lead', 'unknown-link', LINK.linkId])
      expect(text).toContain(word);
    expect(text).toContain(receiver.submission().id);
    for (const word of [
      CODE,
      'some-code',
      'example.com',
      'not-an-email',
      'secret-key',
      '127.0.0.1',
    ])
      expect(text).not.toContain(word);
  });

  test('tells of a bug, with its submission', async () => {
    const { logger, lines } = listeningLogger();
    const bug = new Error('bug');
    const receiver = await openApp({
      logger,
      services: {
        clock: () => {
          throw bug;
        },
      },
    });
    await receiver.post({ email: 'ana@example.com' });
    expect(lines).toContainEqual([
      { err: bug, submissionId: expect.any(String) as string },
      'request failed',
    ]);
  });
});

describe('health', () => {
  test('says that the process lives', async () => {
    const { app } = await openApp();
    const answer = await app.inject('/live');
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toEqual({ status: 'live' });
  });

  test('names weak promises and is ready all the same', async () => {
    const { app } = await openApp({
      services: {
        health: {
          cutOffMs: () => null,
          readiness: () => Promise.resolve({ ready: true, reasons: [], warnings: ['weak'] }),
          stop: () => undefined,
        },
      },
    });
    const answer = await app.inject('/ready');
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toEqual({ status: 'ready', reasons: [], warnings: ['weak'] });
  });

  test('is 503 with its reasons when leads cannot be taken', async () => {
    const { app } = await openApp({
      services: {
        health: {
          cutOffMs: () => null,
          readiness: () => Promise.resolve({ ready: false, reasons: ['away'], warnings: [] }),
          stop: () => undefined,
        },
      },
    });
    const answer = await app.inject('/ready');
    expect(answer.statusCode).toBe(503);
    expect(answer.json()).toMatchObject({ status: 'not-ready', reasons: ['away'] });
  });
});
