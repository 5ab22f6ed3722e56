import type { MetricsRegistry } from './metrics.ts';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An answer of a health check: whether it is good, and what to show. */
export interface HealthAnswer {
  ok: boolean;
  body: Record<string, unknown>;
}

export interface HealthChecks {
  live: () => Promise<HealthAnswer>;
  ready: () => Promise<HealthAnswer>;
}

/**
 * Serves GET /live and /ready: 200 or 503 with JSON; and /metrics for Prometheus. Rejects when the
 * port is taken.
 */
export async function startHealthServer(
  checks: HealthChecks,
  { host, port, metrics }: { host: string; port: number; metrics: MetricsRegistry },
): Promise<{ port: number; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    if (request.url === '/metrics' && request.method === 'GET') {
      metrics.text().then(
        (text) => response.writeHead(200, { 'content-type': metrics.contentType }).end(text),
        () => answer(response, 503, { error: 'the metrics could not be read' }),
      );
      return;
    }
    const check = { '/live': checks.live, '/ready': checks.ready }[request.url ?? ''];
    if (check === undefined || (request.method !== 'GET' && request.method !== 'HEAD')) {
      answer(response, 404, { error: 'There are /live, /ready and /metrics here.' });
      return;
    }
    check().then(
      ({ ok, body }) => answer(response, ok ? 200 : 503, body),
      () => answer(response, 503, { error: 'the check failed' }),
    );
  });
  return listen(server, { host, port });
}

/** Serves GET /metrics on a port of its own, for a network that the public does not reach. */
export async function serveMetrics(
  metrics: MetricsRegistry,
  { host, port }: { host: string; port: number },
): Promise<{ port: number; close: () => Promise<void> }> {
  const server = createServer((request, response) => {
    if (request.url !== '/metrics' || request.method !== 'GET') {
      response.writeHead(404).end();
      return;
    }
    metrics.text().then(
      (text) => response.writeHead(200, { 'content-type': metrics.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
  return listen(server, { host, port });
}

/** Rejects when the port is taken. */
async function listen(
  server: Server,
  { host, port }: { host: string; port: number },
): Promise<{ port: number; close: () => Promise<void> }> {
  server.requestTimeout = 5_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()));
        server.closeAllConnections();
      }),
  };
}

function answer(response: ServerResponse, status: number, body: Record<string, unknown>): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(body));
}
