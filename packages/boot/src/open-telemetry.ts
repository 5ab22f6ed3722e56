import { FastifyOtelInstrumentation } from '@fastify/otel';
import {
  type Attributes,
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type SpanContext,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { ExportResultCode } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { registerInstrumentations } from '@opentelemetry/instrumentation';
import { IORedisInstrumentation } from '@opentelemetry/instrumentation-ioredis';
import { PgInstrumentation } from '@opentelemetry/instrumentation-pg';
import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  NodeTracerProvider,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-node';
import { createRequire } from 'node:module';
import type { Logger } from './logger.ts';
import type { Shutdown } from './shutdown.ts';
import type { Tracer } from './tracing.ts';
import { withinTime } from './within-time.ts';

/** As many as the largest group has members. */
const MOST_LINKS = 1_000;
/** A collector that is away does not hold up a stop. */
const CLOSE_WITHIN_MS = 1_000;

/**
 * Starts OpenTelemetry: the instrumentation of the libraries, and an exporter to a collector. Only what
 * begins with a request or a traced group is a trace: upkeep is none. The libraries read the other `OTEL_…`
 * variables by themselves.
 */
export function openTracer(
  endpoint: string,
  { service, logger, onClose }: { service: string; logger: Logger; onClose: Shutdown['add'] },
): Tracer {
  const url = new URL('v1/traces', endpoint.endsWith('/') ? endpoint : `${endpoint}/`).href;
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': service }).merge(
      detectResources({ detectors: [envDetector] }),
    ),
    spanLimits: { linkCountLimit: MOST_LINKS },
    spanProcessors: [new BatchSpanProcessor(withoutValues(new OTLPTraceExporter({ url }), logger))],
  });
  // No propagator: what strangers send decides on no trace of ours, and endpoints are told of none.
  provider.register({ propagator: null });
  registerInstrumentations({
    tracerProvider: provider,
    instrumentations: [
      new FastifyOtelInstrumentation({
        registerOnInitialization: true,
        instrumentHooks: false,
        recordExceptions: false,
        ignorePaths: ({ url }) => UNTRACED.has(url),
        requestHook: (span, { method, routeOptions }) =>
          void span.updateName(`${method} ${routeOptions.url ?? '(no such route)'}`),
      }),
      new IORedisInstrumentation({ requireParentSpan: true }),
      new PgInstrumentation({
        requireParentSpan: true,
        requestHook: (span, { query }) => void span.updateName(nameOfStatement(query.text)),
      }),
      new UndiciInstrumentation({ requireParentforSpans: true }),
    ],
  });
  // They hook into require; what is imported is the same module.
  const require = createRequire(import.meta.url);
  require('ioredis');
  require('pg');

  onClose('tracing', () =>
    withinTime(provider.shutdown(), CLOSE_WITHIN_MS, 'the collector does not answer').catch(
      (err: unknown) => logger.warn({ err }, 'the last traces were not exported'),
    ),
  );
  const tracer = trace.getTracer('leadgate');
  return {
    current() {
      const current = trace.getActiveSpan()?.spanContext();
      if (current === undefined || (current.traceFlags & 1) === 0) return undefined;
      return `00-${current.traceId}-${current.spanId}-01`;
    },
    span(name, of, run) {
      const linked = of.flatMap(readTraceparent);
      const [first] = linked;
      // What waited for its turn behind others is none of theirs.
      if (first === undefined) return context.with(ROOT_CONTEXT, run);
      const links = linked.map((one) => ({ context: one }));
      const attributes = { 'messaging.batch.message_count': linked.length };
      const parent = trace.setSpanContext(ROOT_CONTEXT, first);
      return tracer.startActiveSpan(name, { links, attributes }, parent, async (span) => {
        try {
          return await run();
        } catch (error) {
          span.setStatus({ code: SpanStatusCode.ERROR });
          throw error;
        } finally {
          span.end();
        }
      });
    },
  };
}

/** Asked by monitors, all the time. */
const UNTRACED: ReadonlySet<string | undefined> = new Set(['/live', '/ready', '/metrics']);

/** What it does to which tables. Its values are parameters. */
function nameOfStatement(sql: string): string {
  const writes = sql.matchAll(/\b(INSERT|UPDATE|DELETE) (?:INTO |FROM )?"?(?!SET\b)(\w+)/g);
  const names = [...new Set([...writes].map(([, verb, table]) => `${verb} ${table}`))];
  if (names.length > 0) return names.join(', ');
  const [, table] = /\bFROM "?(\w+)/.exec(sql) ?? [];
  return table === undefined ? (/\w+/.exec(sql)?.[0] ?? 'statement') : `SELECT ${table}`;
}

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-01$/;

function readTraceparent(text: string): SpanContext[] {
  const [, traceId = '', spanId = ''] = TRACEPARENT.exec(text) ?? [];
  const read = { traceId, spanId, traceFlags: 1, isRemote: true };
  return isSpanContextValid(read) ? [read] : [];
}

/** What a span may say. Addresses, queries, statements, keys and errors hold data of people. */
const TOLD: ReadonlySet<string> = new Set([
  'db.operation.name',
  'db.system.name',
  'error.type',
  'http.request.method',
  'http.response.status_code',
  'http.route',
  'messaging.batch.message_count',
  'server.address',
  'server.port',
]);

/** An exporter that is given what is in `TOLD`, and tells when it fails and when it does again. */
function withoutValues(exporter: SpanExporter, logger: Logger): SpanExporter {
  let failed = false;
  return {
    export(spans, done) {
      exporter.export(spans.map(withoutValue), (result) => {
        const before = failed;
        failed = result.code === ExportResultCode.FAILED;
        if (failed !== before) {
          if (failed) logger.warn('traces are not exported: the collector does not take them');
          else logger.info('traces are exported again');
        }
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
}

function withoutValue(span: ReadableSpan): ReadableSpan {
  const attributes: Attributes = {};
  for (const [name, value] of Object.entries(span.attributes))
    if (TOLD.has(name)) attributes[name] = value;
  return {
    name: span.name,
    kind: span.kind,
    spanContext: () => span.spanContext(),
    ...(span.parentSpanContext && { parentSpanContext: span.parentSpanContext }),
    startTime: span.startTime,
    endTime: span.endTime,
    status: { code: span.status.code },
    attributes,
    links: span.links,
    events: [],
    duration: span.duration,
    ended: span.ended,
    resource: span.resource,
    instrumentationScope: span.instrumentationScope,
    droppedAttributesCount: span.droppedAttributesCount,
    droppedEventsCount: span.droppedEventsCount,
    droppedLinksCount: span.droppedLinksCount,
  };
}
