import { createLogger, createShutdown, failStart, readConfig, startTracing } from '@leadgate/boot';
import { WorkerConfig } from './config.ts';
import { STOP_MARGIN_MS, startWorker } from './start-worker.ts';

try {
  const config = readConfig(WorkerConfig, process.env);
  const logger = createLogger({ name: 'worker', level: config.LOG_LEVEL });
  const shutdown = createShutdown({
    logger,
    timeoutMs: config.SHUTDOWN_TIMEOUT_MS + STOP_MARGIN_MS,
  });
  const tracing = { service: 'leadgate-worker', logger, onClose: shutdown.add };
  await startTracing(config.OTEL_EXPORTER_OTLP_ENDPOINT, tracing);
  await startWorker(config, { logger, onClose: shutdown.add }).catch((error: unknown) => {
    // A start fails when a stop closes what it has opened; the stop then ends the process.
    if (!shutdown.signal.aborted) throw error;
  });
} catch (error) {
  failStart(error);
}
