import { createLogger, createShutdown, failStart, readConfig, startTracing } from '@leadgate/boot';
import { ConsoleConfig } from './config.ts';
import { startConsole } from './start-console.ts';

try {
  const config = readConfig(ConsoleConfig, process.env);
  const logger = createLogger({ name: 'console', level: config.LOG_LEVEL });
  const shutdown = createShutdown({ logger, timeoutMs: 5_000 });
  const tracing = { service: 'leadgate-console', logger, onClose: shutdown.add };
  await startTracing(config.OTEL_EXPORTER_OTLP_ENDPOINT, tracing);
  await startConsole(config, { logger, onClose: shutdown.add });
} catch (error) {
  failStart(error);
}
