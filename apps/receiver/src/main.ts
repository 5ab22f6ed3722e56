import { createLogger, createShutdown, failStart, readConfig, startTracing } from '@leadgate/boot';
import { ReceiverConfig } from './config.ts';
import { startReceiver } from './start-receiver.ts';

try {
  const config = readConfig(ReceiverConfig, process.env);
  const logger = createLogger({ name: 'receiver', level: config.LOG_LEVEL });
  const shutdown = createShutdown({ logger, timeoutMs: config.STOP_DELAY_MS + 9_000 });
  const tracing = { service: 'leadgate-receiver', logger, onClose: shutdown.add };
  await startTracing(config.OTEL_EXPORTER_OTLP_ENDPOINT, tracing);
  await startReceiver(config, {
    logger,
    onClose: (name, close) => {
      // A start that is told to stop ends here: it must not listen while what it listens for is closed.
      shutdown.signal.throwIfAborted();
      shutdown.add(name, close);
    },
  }).catch((error: unknown) => {
    // A start fails when a stop closes what it has opened; the stop then ends the process.
    if (!shutdown.signal.aborted) throw error;
  });
} catch (error) {
  failStart(error);
}
