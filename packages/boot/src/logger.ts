import { createRequire } from 'node:module';
import { pino, type DestinationStream, type Logger, type LoggerOptions as PinoOptions } from 'pino';
import { errorFacts, redactUrl } from './error-facts.ts';

export type { Logger } from 'pino';

/** What the packages need of a logger. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface LoggerOptions {
  /** The process: `receiver`, `worker`, … */
  name: string;
  level: string;
  /** Lines for people instead of JSON. By default on a terminal, if pino-pretty is installed. */
  pretty?: boolean;
  /** The standard output, unless told. */
  destination?: DestinationStream;
}

/**
 * A logger that writes JSON to the standard output. An `err` is reduced to what `errorFacts` tells,
 * and the password of any URL in a line is replaced.
 */
export function createLogger({ name, level, pretty, destination }: LoggerOptions): Logger {
  const forPeople =
    destination === undefined && (pretty ?? process.stdout.isTTY) && prettyIsInstalled();
  const options: PinoOptions = {
    name,
    level,
    base: { name, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: errorFacts },
    redact: {
      paths: ['password', '*.password', 'authorization', '*.authorization', '*.cookie'],
      censor: '***',
    },
    hooks: { streamWrite: redactUrl },
    ...(forPeople && {
      transport: { target: 'pino-pretty', options: { ignore: 'pid,name', singleLine: true } },
    }),
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

function prettyIsInstalled(): boolean {
  try {
    createRequire(import.meta.url).resolve('pino-pretty');
    return true;
  } catch {
    return false;
  }
}
