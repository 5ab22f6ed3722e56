import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { standIn, type Answer, type Links, type Post } from './stand-in.ts';

/** A receiver that runs already, to test the snippet against: its address and two of its links. */
export interface RealReceiver extends Links {
  url: string;
}

interface StagedAnswer {
  status: number;
  retryAfter?: number;
}

/** A receiver to a browser; failures are staged before it. */
export interface TestReceiver extends Links {
  origin: string;
  /** The POSTs that arrived, refused and unanswered ones included. */
  posts: Post[];
  /** How many preflights arrived. */
  preflights: number;
  /** What the next POSTs get, instead of what the receiver would say. */
  stage(...answers: StagedAnswer[]): void;
  /** From now on every POST waits for the returned function. */
  hold(): () => void;
  /** From now on every connection is broken, or none. */
  setDown(down: boolean): void;
  /** From now on every preflight is refused. */
  refusePreflights(): void;
  close(): Promise<void>;
}

const HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'Retry-After, Submission-Id',
  'cache-control': 'no-store',
};

/**
 * Opens it. Staged failures come from here; all else is answered by the real receiver if one is
 * given, else by a stand-in. `/capture.js` is the snippet.
 */
export async function openReceiver(
  snippet: string,
  real: RealReceiver | null,
): Promise<TestReceiver> {
  const links: Links = real ?? { open: 'open-link', closed: 'closed-link' };
  const answerOf = standIn(links);
  const staged: StagedAnswer[] = [];
  let held: Promise<void> | null = null;
  let isDown = false;
  let refusesPreflights = false;

  const server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '/';
    if (path === '/capture.js') {
      response.writeHead(200, { 'content-type': 'text/javascript' }).end(snippet);
      return;
    }
    if (isDown) {
      request.socket.destroy();
      return;
    }
    if (request.method === 'OPTIONS') {
      receiver.preflights++;
      if (refusesPreflights) response.writeHead(403).end();
      else await pass(request, { path, contentType: '', body: '' }, response);
      return;
    }
    const body = await textOf(request);
    const post = { path, contentType: request.headers['content-type'] ?? '', body };
    receiver.posts.push(post);
    const failure = staged.shift();
    if (failure) {
      const { status, retryAfter } = failure;
      const problem = { title: 'staged', status, code: 'staged' };
      response.writeHead(status, {
        ...HEADERS,
        'content-type': 'application/problem+json',
        ...(retryAfter !== undefined && { 'retry-after': `${retryAfter}` }),
      });
      response.end(JSON.stringify(problem));
      return;
    }
    await held;
    await pass(request, post, response);
  }

  async function pass(
    request: IncomingMessage,
    post: Post,
    response: ServerResponse,
  ): Promise<void> {
    if (real) {
      const { method = 'POST', headers } = request;
      const told = ['content-type', 'origin', 'access-control-request-method', 'idempotency-key'];
      const answered = await fetch(real.url + post.path, {
        method,
        headers: told.flatMap((name) => {
          const value = headers[name];
          return typeof value === 'string' ? [[name, value] as [string, string]] : [];
        }),
        ...(method === 'POST' && { body: post.body }),
      });
      response.writeHead(answered.status, Object.fromEntries(answered.headers));
      response.end(await answered.text());
    } else if (request.method === 'OPTIONS') {
      response.writeHead(204, {
        ...HEADERS,
        'access-control-allow-methods': 'POST',
        'access-control-allow-headers': 'Content-Type, Idempotency-Key, Prefer',
      });
      response.end();
    } else {
      const { status, body }: Answer = answerOf(post);
      response.writeHead(status, { ...HEADERS, 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    }
  }

  const receiver: TestReceiver = {
    ...links,
    origin: `http://127.0.0.1:${port}`,
    posts: [],
    preflights: 0,
    stage: (...answers) => {
      staged.push(...answers);
    },
    hold: () => {
      let release = (): void => {};
      held = new Promise((resolve) => {
        release = () => {
          held = null;
          resolve();
        };
      });
      return release;
    },
    setDown: (down) => {
      isDown = down;
    },
    refusePreflights: () => {
      refusesPreflights = true;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
