import { createLogger, createShutdown, failStart, readConfig } from '@leadgate/boot';
import { ConsoleConfig } from './config.ts';
import { startConsole } from './start-console.ts';

try {
  const config = readConfig(ConsoleConfig, process.env);
  const logger = createLogger({ name: 'console', level: config.LOG_LEVEL });
  const shutdown = createShutdown({ logger, timeoutMs: 5_000 });
  await startConsole(config, { logger, onClose: shutdown.add });
} catch (error) {
  failStart(error);
}
