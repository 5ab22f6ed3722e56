import { Type } from 'typebox';
import type { Logger } from './logger.ts';
import { urlSetting } from './config.ts';
import type { Shutdown } from './shutdown.ts';

/** `OTEL_EXPORTER_OTLP_ENDPOINT`: the collector of traces. */
export const otlpEndpointSetting = () =>
  Type.Optional(
    urlSetting(['http:', 'https:'], {
      description:
        'the base address of an OpenTelemetry collector that takes OTLP over HTTP: traces go there; without it there are none',
      examples: ['http://collector:4318'],
    }),
  );

/** What a process that traces can do. */
export interface Tracer {
  /** The span under way, as a `traceparent` of W3C Trace Context. */
  current(): string | undefined;
  /** Runs it as a span that is linked with each of these; as none if there are none. */
  span<Result>(name: string, of: readonly string[], run: () => Promise<Result>): Promise<Result>;
}

/** Of this process, as it has one log; null: it does not trace. */
let tracer: Tracer | null = null;

/**
 * Traces what this process does from now on, if there is a collector to tell. Without one, nothing of
 * OpenTelemetry is even loaded.
 */
export async function startTracing(
  endpoint: string | undefined,
  options: { service: string; logger: Logger; onClose: Shutdown['add'] },
): Promise<void> {
  if (endpoint === undefined) return;
  const { openTracer } = await import('./open-telemetry.ts');
  tracer = openTracer(endpoint, options);
}

/** The span under way, to be carried to where its work goes on; undefined: it is not traced. */
export const traceparent = (): string | undefined => tracer?.current();

/**
 * Runs what is done for several at once, as a span that is linked with the spans it is done for, and in the
 * trace of the first of them. Not traced: as if it were called.
 */
export function traced<Result>(
  name: string,
  of: () => readonly (string | null | undefined)[],
  run: () => Promise<Result>,
): Promise<Result> {
  if (tracer === null) return run();
  return tracer.span(
    name,
    of().flatMap((one) => one ?? []),
    run,
  );
}
