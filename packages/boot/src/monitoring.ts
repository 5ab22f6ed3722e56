import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { answerWithin } from './within-time.ts';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Named {
  /** As Prometheus names metrics: `leadgate_…`, with the unit, `_total` for counters. */
  name: string;
  help: string;
}

/** The label of a metric with every value that it can have: the number of series is bounded. */
interface Labelled<Value extends string> {
  label: string;
  values: readonly Value[];
}

/** A number that is looked up when somebody asks; null if it is not known now. */
export interface GaugeDefinition extends Named {
  read: () => Promise<number | null> | number | null;
}

/** Numbers by the value of a label, looked up when somebody asks. */
export interface GaugesDefinition<Value extends string> extends Named, Labelled<Value> {
  read: () => Promise<Readonly<Record<Value, number>> | null>;
}

/** The metrics of one process. A name is registered once. */
export interface MetricsRegistry {
  counter(definition: Named): (by?: number) => void;
  /** Every value of the label starts at 0. Others are not counted. */
  counters<Value extends string>(
    definition: Named & Labelled<Value>,
  ): (value: Value, by?: number) => void;
  histogram(definition: Named & { buckets: number[] }): (value: number) => void;
  gauge(definition: GaugeDefinition): void;
  gauges<Value extends string>(definition: GaugesDefinition<Value>): void;
  /** Whether a server answers. */
  up(server: 'Redis' | 'Postgres', answers: () => Promise<boolean> | boolean): void;
  /** The exposition format of Prometheus. Never rejects because of one that cannot be read. */
  text(): Promise<string>;
  contentType: string;
  /** The names of all metrics, those of Node included. */
  names(): string[];
}

/** A gauge that does not answer must not keep the others from being read. */
const READ_TIMEOUT_MS = 2_000;

/** A registry with the metrics of the process itself, event-loop delay and memory among them. */
export function createMetrics(service: string): MetricsRegistry {
  const registry = new Registry();
  registry.setDefaultLabels({ service });
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const gauge = ({ name, help, read }: GaugeDefinition): void => {
    const one: Gauge = new Gauge({
      name,
      help,
      registers,
      collect: async () => {
        one.set((await answerWithin(asked(read), READ_TIMEOUT_MS)) ?? Number.NaN);
      },
    });
  };
  return {
    gauge,
    up: (server, answers) =>
      gauge({
        name: `leadgate_${server.toLowerCase()}_up`,
        help: `Whether ${server} answers.`,
        read: async () => Number(await answers()),
      }),
    counter(definition) {
      const counter = new Counter({ ...definition, registers });
      return (by = 1) => counter.inc(by);
    },
    counters({ name, help, label, values }) {
      const counter = new Counter({ name, help, labelNames: [label], registers });
      for (const value of values) counter.inc({ [label]: value }, 0);
      const known = new Set<string>(values);
      return (value, by = 1) => {
        if (known.has(value)) counter.inc({ [label]: value }, by);
      };
    },
    histogram(definition) {
      const histogram = new Histogram({ ...definition, registers });
      return (value) => histogram.observe(value);
    },
    gauges({ name, help, label, values, read }) {
      const gauge: Gauge = new Gauge({
        name,
        help,
        labelNames: [label],
        registers,
        collect: async () => {
          const numbers = await answerWithin(asked(read), READ_TIMEOUT_MS);
          for (const value of values) gauge.set({ [label]: value }, numbers?.[value] ?? Number.NaN);
        },
      });
    },
    text: () => registry.metrics(),
    contentType: registry.contentType,
    names: () => registry.getMetricsAsArray().map(({ name }) => name),
  };
}

/** Asks so that what is thrown at once fails as what is thrown later. */
const asked = async <T>(read: () => Promise<T> | T): Promise<T> => read();

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
export const startHealthServer = (
  { live, ready }: HealthChecks,
  { metrics, ...at }: Address & { metrics: MetricsRegistry },
): Promise<Listening> =>
  listen(
    {
      '/live': async () => json(await live()),
      '/ready': async () => json(await ready()),
      '/metrics': () => read(metrics),
    },
    at,
  );

/** Serves GET /metrics on a port of its own, for a network that the public does not reach. */
export const serveMetrics = (metrics: MetricsRegistry, at: Address): Promise<Listening> =>
  listen({ '/metrics': () => read(metrics) }, at);

interface Address {
  host: string;
  port: number;
}

interface Listening {
  port: number;
  close: () => Promise<void>;
}

interface Answer {
  status: number;
  type: string;
  text: string;
}

const json = ({ ok, body }: HealthAnswer, status = ok ? 200 : 503): Answer => ({
  ...{ status, type: 'application/json', text: JSON.stringify(body) },
});

const read = async (metrics: MetricsRegistry): Promise<Answer> => ({
  ...{ status: 200, type: metrics.contentType, text: await metrics.text() },
});

/** Answers what is looked up by its address. Rejects when the port is taken. */
async function listen(
  addresses: Readonly<Record<string, () => Promise<Answer>>>,
  { host, port }: Address,
): Promise<Listening> {
  const none = `There are ${Object.keys(addresses).join(', ')} here.`;
  const server = createServer(({ method, url = '' }, response) => {
    const look = method === 'GET' || method === 'HEAD' ? addresses[url] : undefined;
    const answer = look?.() ?? Promise.resolve(json({ ok: false, body: { error: none } }, 404));
    void answer
      .catch(() => json({ ok: false, body: { error: 'it could not be looked up' } }))
      .then(({ status, type, text }) =>
        response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(text),
      );
  });
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
