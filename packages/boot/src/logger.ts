import { createRequire } from 'node:module';
import { pino, type DestinationStream, type Logger, type LoggerOptions as PinoOptions } from 'pino';

/** A node of a Redis Cluster may come after a comma, and without the protocol. */
const CREDENTIALS = /((?::\/\/|,)[^\s:@/",]*):[^\s@/"]+@/g;

/** The text with the password of every URL in it replaced by `***`. Never throws. */
export function redactUrl(text: string): string {
  return text.replace(CREDENTIALS, '$1:***@');
}

/** What may be logged of an error. */
export interface ErrorFacts {
  type: string;
  code?: string;
  message: string;
  stack?: string;
  cause?: ErrorFacts;
  errors?: ErrorFacts[];
}

const DEEPEST = 4;

/**
 * What can be told of an error without telling what was in the data: its type, code, message and
 * stack, and those of its causes. Left out is whatever else libraries hang on their errors (rows in
 * Postgres's `detail`, the arguments of a Redis command, bound parameters), and the message if a
 * server quotes the offending value in it.
 */
export function errorFacts(error: unknown, depth = 0): ErrorFacts {
  if (!(error instanceof Error)) return { type: typeof error, message: 'thrown, but not an Error' };
  const code = codeOf(error);
  const message = safeMessage(error);
  const stack = framesOf(error);
  const type = error.constructor.name || error.name;
  return {
    type,
    ...(code !== undefined && { code }),
    message,
    ...(stack !== '' && { stack: `${type}: ${message}\n${stack}` }),
    ...(error.cause instanceof Error &&
      depth < DEEPEST && { cause: errorFacts(error.cause, depth + 1) }),
    ...(error instanceof AggregateError &&
      depth < DEEPEST && {
        errors: error.errors.slice(0, 5).map((inner) => errorFacts(inner, depth + 1)),
      }),
  };
}

/** The error's own code, or the SQLSTATE that a driver adapter wrapped. */
function codeOf(error: Error): string | undefined {
  const sqlState = sqlStateOf(error);
  if (sqlState !== undefined) return sqlState;
  const code: unknown = Reflect.get(error, 'code');
  return typeof code === 'string' ? code : undefined;
}

function sqlStateOf(error: Error): string | undefined {
  const code: unknown = Reflect.get(error, 'code');
  if (typeof code === 'string' && /^(?!P\d{4}$)[0-9A-Z]{5}$/.test(code) && 'severity' in error)
    return code;
  const meta = get(error, 'meta');
  const cause = get(get(meta, 'driverAdapterError') ?? error, 'cause');
  const original = get(cause, 'originalCode');
  return typeof original === 'string' ? original : undefined;
}

function get(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
}

/** SQLSTATE classes whose messages quote data: data exception, integrity, cast in a statement. */
const QUOTES_DATA = /^(22|23|42804|42846)/;

function safeMessage(error: Error): string {
  const sqlState = sqlStateOf(error);
  if (sqlState !== undefined && QUOTES_DATA.test(sqlState))
    return `Postgres refused the data (SQLSTATE ${sqlState})`;
  // Prisma puts the invocation and the server's own message into its message.
  if (/^Prisma/.test(error.constructor.name))
    return sqlState === undefined
      ? `Prisma error ${codeOf(error) ?? ''}`.trim()
      : `Postgres error (SQLSTATE ${sqlState})`;
  // V8 quotes the text that it could not parse.
  if (error instanceof SyntaxError) return 'a text could not be parsed';
  if (/^ReplyError$/.test(error.name) || /^ReplyError$/.test(error.constructor.name))
    return redactUrl(error.message.replace(/,? with args beginning with.*/s, ''));
  return redactUrl(error.message);
}

/** The frames of a stack, without the message that V8 puts before them. */
function framesOf(error: Error): string {
  return (error.stack ?? '')
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n');
}

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
