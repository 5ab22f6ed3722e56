import { isIP } from 'node:net';
import { Agent, buildConnector, errors, type Dispatcher } from 'undici';
import { InsideError, type Guard } from './guard.ts';
import type { SendResult } from './verdict.ts';

/** Sends to one endpoint, over connections that are its own. */
export interface Sender {
  /**
   * Posts a body. Never rejects: what went wrong is the result. Redirects are answers like any other, and
   * no failure.
   */
  post(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string | Buffer,
  ): Promise<SendResult>;
  /** Ends what is under way, and its connections. */
  close(): Promise<void>;
}

/** What an answer is read to. Bytes. */
const LARGEST_ANSWER = 8 * 1024;

/** `timeoutMs`: from the start of a send to the end of its answer. */
export function createSender(
  guard: Guard,
  { connections, timeoutMs }: { connections: number; timeoutMs: number },
): Sender {
  const agent = new Agent({
    connect: connectorOf(guard),
    connections,
    pipelining: 1,
    // One time for all of a send, below.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: 10_000,
    maxHeaderSize: LARGEST_ANSWER,
  });
  let target = { url: '', origin: '', path: '' };
  return {
    post: (url, headers, body) => {
      // Mostly the same one again.
      if (url !== target.url) target = { url, ...partsOf(url) };
      const { origin, path } = target;
      return post(agent, { origin, path, method: 'POST', headers, body }, timeoutMs);
    },
    close: () => agent.destroy(),
  };
}

const CONNECT_WITHIN_MS = 5_000;

/** Opens connections to what the guard lets through, and fails with an InsideError else. */
function connectorOf(guard: Guard): buildConnector.connector {
  const by = (protocol: string) =>
    buildConnector({
      timeout: CONNECT_WITHIN_MS,
      lookup: guard.lookup(protocol),
      // Nothing here goes by a socket file.
      socketPath: null,
    });
  const connectors = { http: by('http:'), https: by('https:') };
  return (options, callback) => {
    const { hostname, protocol } = options;
    // An address is connected to without a look-up.
    const reason = isIP(hostname) === 0 ? null : guard.whyNot(hostname, protocol);
    if (reason !== null) return callback(new InsideError(reason), null);
    return protocol === 'https:'
      ? connectors.https(options, callback)
      : connectors.http(options, callback);
  };
}

function partsOf(url: string): { origin: string; path: string } {
  const { origin, pathname, search } = new URL(url);
  return { origin, path: pathname + search };
}

interface Unanswered {
  kind: Exclude<SendResult['kind'], 'answered'>;
  detail: string;
}

const LATE: Unanswered = { kind: 'timeout', detail: 'no answer in time' };

/** By undici's own handlers: its promises and streams are half of what a send costs. */
function post(
  agent: Agent,
  request: Dispatcher.DispatchOptions,
  timeoutMs: number,
): Promise<SendResult> {
  const start = performance.now();
  return new Promise((resolve) => {
    let controller: Dispatcher.DispatchController | null = null;
    let status = 0;
    let retryAfter: string | null = null;
    const chunks: Buffer[] = [];
    let length = 0;
    const tookMs = (): number => {
      clearTimeout(timer);
      return Math.round(performance.now() - start);
    };
    const endWithout = ({ kind, detail }: Unanswered): void =>
      resolve({ kind, detail, durationMs: tookMs() });
    const endWithAnswer = (): void => {
      const answer =
        length === 0 ? '' : Buffer.concat(chunks).subarray(0, LARGEST_ANSWER).toString('utf8');
      resolve({ kind: 'answered', status, retryAfter, answer, durationMs: tookMs() });
    };
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      endWithout(LATE);
      controller?.abort(new errors.RequestAbortedError());
    }, timeoutMs);
    agent.dispatch(request, {
      onRequestStart: (started) => {
        controller = started;
        if (isLate) started.abort(new errors.RequestAbortedError());
      },
      onResponseStart: (_, statusCode, answered) => {
        // The last one counts: those before it are informational (1xx).
        status = statusCode;
        const after = answered['retry-after'];
        retryAfter = typeof after === 'string' ? after : null;
      },
      onResponseData: (started, chunk) => {
        chunks.push(chunk);
        length += chunk.byteLength;
        if (length < LARGEST_ANSWER) return;
        endWithAnswer();
        started.abort(new errors.RequestAbortedError());
      },
      // To its end: an endpoint that dies before has not said yes.
      onResponseEnd: endWithAnswer,
      onResponseError: (_, error) => endWithout(failureOf(error)),
    });
  });
}

function failureOf(error: unknown): Unanswered {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof InsideError) return { kind: 'refused', detail: cause.message };
  if (error instanceof errors.ConnectTimeoutError) return LATE;
  const code = codeOf(error);
  const broken = error instanceof errors.HTTPParserError || code === 'UND_ERR_SOCKET';
  return { kind: broken ? 'broken-answer' : 'no-connection', detail: code };
}

/** A code of Node, OpenSSL or undici; messages may hold more than a log should. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  if (error instanceof Error && 'code' in error && typeof error.code === 'string')
    return error.code.slice(0, 60);
  return error instanceof Error ? error.name : 'unknown';
}
