import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { forTest, startRecordingEndpoint } from '@leadgate/testkit';
import protobuf from 'protobufjs';
import { expect, test, vi } from 'vitest';
import { listen } from '../scripts/servers/listen.js';
import { post } from './leads.ts';
import { startSystem } from './system.ts';

/** What is read here of github.com/open-telemetry/opentelemetry-proto, by its numbers: the rest is skipped. */
const REQUEST = protobuf
  .parse(
    `syntax = "proto3";
    message Request { repeated ResourceSpans resource_spans = 1; }
    message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
    message Resource { repeated KeyValue attributes = 1; }
    message ScopeSpans { repeated Span spans = 2; }
    message Span {
      bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5;
      repeated KeyValue attributes = 9; repeated Event events = 11; repeated Link links = 13;
    }
    message Event { string name = 2; }
    message Link { bytes trace_id = 1; bytes span_id = 2; }
    message KeyValue { string key = 1; AnyValue value = 2; }
    message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; } }`,
    { keepCase: false },
  )
  .root.lookupType('Request');

interface KeyValue {
  key: string;
  value: { stringValue?: string; intValue?: string };
}

/** Ids are base64, as JSON has bytes. */
interface Span {
  service: string;
  name: string;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  attributes?: KeyValue[];
  events?: unknown[];
  links?: { traceId: string; spanId: string }[];
}

/** A collector that takes OTLP over HTTP, and keeps all that it is sent. */
async function startCollector() {
  const bodies: Buffer[] = [];
  const spans: Span[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      bodies.push(body);
      if (request.url !== '/v1/traces' || request.headers['content-type'] !== PROTOBUF) {
        response.writeHead(400).end();
        return;
      }
      const { resourceSpans } = REQUEST.toObject(REQUEST.decode(body), AS_JSON) as {
        resourceSpans: {
          resource: { attributes: KeyValue[] };
          scopeSpans: { spans: Omit<Span, 'service'>[] }[];
        }[];
      };
      for (const { resource, scopeSpans } of resourceSpans) {
        const name = resource.attributes.find(({ key }) => key === 'service.name');
        const service = name?.value.stringValue ?? '';
        for (const scope of scopeSpans)
          spans.push(...scope.spans.map((span) => ({ ...span, service })));
      }
      // An empty response: all of it was taken.
      response.writeHead(200, { 'content-type': PROTOBUF }).end();
    });
  });
  return { ...(await forTest(listen(server))), bodies, spans };
}

/** In every value that is sent. */
const MARK = 'zqxmarked';

const PROTOBUF = 'application/x-protobuf';
const AS_JSON = { bytes: String, longs: String };

test('a post is one trace from the receiver to the commit and the delivery, without a word of the person', async () => {
  const collector = await startCollector();
  const tracing = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_BSP_SCHEDULE_DELAY: '100',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
  };
  const system = await forTest(startSystem({ receiverEnv: tracing, workerEnv: tracing }));
  const { workspace, code } = await system.openLink();
  const endpoint = await forTest(startRecordingEndpoint());
  await system.cli('endpoint', 'create', workspace, 'crm', endpoint.url);
  await system.startDeliverer(tracing);

  // Many at once, so that groups have several members.
  const POSTS = 20;
  const headers = {
    'user-agent': `${MARK} agent`,
    referer: `https://lp.example/?email=${MARK}@x.example`,
    // A stranger's: it decides on no trace here.
    traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00',
  };
  const answers = await Promise.all(
    Array.from({ length: POSTS }, (_, n) => {
      const email = `${MARK}${n}@x.example`;
      const lead = { email, telephone: `55119876500${10 + n}`, name: `${MARK} ${n}` };
      return post(system.receivers[0], `${code}?email=${MARK}@x.example`, lead, headers);
    }),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 202));
  await vi.waitFor(() => expect(endpoint.messages).toHaveLength(POSTS), 20_000);

  const named = (name: string) => collector.spans.filter((span) => span.name === name);
  // Each process sends its spans when it likes: a worker's may come after those of what it led to.
  await vi.waitFor(() => {
    expect(named('deliver')).toHaveLength(POSTS);
    expect(named('commit').flatMap(({ links = [] }) => links)).toHaveLength(POSTS);
  }, 10_000);
  const posts = named('POST /ingest/:code');
  expect(posts).toHaveLength(POSTS);
  expect(new Set(posts.map(({ traceId }) => traceId)).size).toBe(POSTS);

  // From each post over links: what it was reserved, put in the queue and committed with, and its delivery.
  const [reserved, enqueued, committed, delivered] = [
    'reserve',
    'enqueue',
    'commit',
    'deliver',
  ].map(named);
  for (const post of posts) {
    expect(post.service).toBe('leadgate-receiver');
    const [handler] = childrenOf(collector.spans, post);
    expect(linkedTo(reserved, handler)).toHaveLength(1);
    expect(linkedTo(enqueued, handler)).toHaveLength(1);
    const [commit, ...more] = linkedTo(committed, handler);
    expect(more).toEqual([]);
    expect(commit?.service).toBe('leadgate-worker');
    expect(linkedTo(delivered, commit).length).toBeGreaterThan(0);
  }
  expect(committed?.length).toBeLessThan(POSTS);
  const tells = (name: string, what: string) =>
    named(name)
      .flatMap((span) => childrenOf(collector.spans, span))
      .map(attributesOf)
      .filter((one) => what in one);
  expect(tells('reserve', 'db.operation.name')).toContainEqual(
    expect.objectContaining({ 'db.system.name': 'redis' }),
  );
  expect(tells('commit', 'db.system.name')[0]).toMatchObject({ 'db.system.name': 'postgresql' });
  expect(new Set(collector.spans.map(({ name }) => name))).toContain(
    'INSERT imported_row, INSERT submission, INSERT consent',
  );
  expect(tells('deliver', 'http.request.method')).toHaveLength(POSTS);
  expect(tells('deliver', 'http.response.status_code')[0]).toMatchObject({
    'server.address': '127.0.0.1',
  });

  // Nothing of a person, of the server's addresses' queries or of statements; nor of a stranger's trace.
  const bytes = Buffer.concat(collector.bodies);
  for (const word of [MARK, '55119876', 'INSERT INTO', '4bf92f3577b34da6'])
    expect({
      word,
      found: bytes.toString('latin1').toLowerCase().includes(word.toLowerCase()),
    }).toEqual({ word, found: false });
  expect(bytes.includes(Buffer.from('4bf92f3577b34da6a3ce929d0e0e4736', 'hex'))).toBe(false);
  expect(collector.spans.filter(({ events }) => events !== undefined)).toEqual([]);
  const sent = endpoint.messages.map(({ headers }) => headers.traceparent);
  expect(sent).toEqual(sent.map(() => undefined));
}, 60_000);

test.each(['receiver', 'worker', 'deliverer', 'console'])(
  'without a collector %s loads nothing of OpenTelemetry but the interface that the metrics load',
  (app) => {
    const dist = new URL(`../apps/${app}/dist/`, import.meta.url);
    const namesIn = (code: string) =>
      [...code.matchAll(/^\/\/ \S*node_modules\/(@opentelemetry\/[^/]+|@fastify\/otel)\//gm)].map(
        ([, name = '']) => name,
      );
    const loaded = new Set(['main.js']);
    const names: string[] = [];
    for (const file of loaded) {
      const code = readFileSync(new URL(file, dist), 'utf8');
      names.push(...namesIn(code));
      for (const [, imported = ''] of code.matchAll(/^import .*?"\.\/([^"]+)";$/gm))
        loaded.add(imported);
    }
    expect(new Set(names)).toEqual(new Set(['@opentelemetry/api']));
    const [later] = readdirSync(dist).filter((file) => file.startsWith('open-telemetry-'));
    expect(namesIn(readFileSync(new URL(later ?? '', dist), 'utf8'))).toContain(
      '@opentelemetry/sdk-trace-node',
    );
  },
);

const idOf = ({ traceId, spanId }: { traceId: string; spanId: string }) => `${traceId} ${spanId}`;

const linkedTo = (spans: readonly Span[] = [], to?: Span): Span[] =>
  spans.filter(({ links = [] }) => to !== undefined && links.map(idOf).includes(idOf(to)));

const childrenOf = (spans: readonly Span[], { spanId }: Span): Span[] =>
  spans.filter(({ parentSpanId }) => parentSpanId === spanId);

const attributesOf = ({ attributes = [] }: Span): Record<string, string> =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? '']),
  );
