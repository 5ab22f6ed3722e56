import { createLogger, createShutdown, failStart, readConfig, startTracing } from '@leadgate/boot';
import { DelivererConfig } from './config.ts';
import { STOP_MARGIN_MS, startDeliverer } from './start-deliverer.ts';

try {
  const config = readConfig(DelivererConfig, process.env);
  const logger = createLogger({ name: 'deliverer', level: config.LOG_LEVEL });
  const shutdown = createShutdown({
    logger,
    timeoutMs: config.SHUTDOWN_TIMEOUT_MS + STOP_MARGIN_MS,
  });
  const tracing = { service: 'leadgate-deliverer', logger, onClose: shutdown.add };
  await startTracing(config.OTEL_EXPORTER_OTLP_ENDPOINT, tracing);
  await startDeliverer(config, { logger, onClose: shutdown.add }).catch((error: unknown) => {
    // A start fails when a stop closes what it has opened; the stop then ends the process.
    if (!shutdown.signal.aborted) throw error;
  });
} catch (error) {
  failStart(error);
}
