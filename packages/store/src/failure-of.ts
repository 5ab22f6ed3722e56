import { Prisma } from './generated/client.ts';

/** What to do about an error of the store. */
export type Failure =
  /** Another transaction was in the way: do the same again. */
  | 'conflict'
  /** Postgres refuses a value: the same again fails again, and so does any group that holds it. */
  | 'data'
  /** Postgres is away, full, starting, not migrated or not letting us in: wait, nothing is spent. */
  | 'unavailable'
  | 'bug';

/** An error of Postgres without the values that its message may quote. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly failure: Failure;
  /** SQLSTATE, or what else names the error; null if nothing does. */
  readonly code: string | null;

  constructor(failure: Failure, code: string | null) {
    super(`${MESSAGES[failure]} (${code ?? 'no code'})`);
    this.failure = failure;
    this.code = code;
  }
}

const MESSAGES: Record<Failure, string> = {
  conflict: 'another transaction was in the way, several times',
  data: 'Postgres refuses a value',
  unavailable: 'Postgres is not available',
  bug: 'Postgres refuses a statement',
};

/** What an error thrown by a function of this package, by Prisma or by pg asks for. */
export function failureOf(error: unknown): Failure {
  if (error instanceof StoreError) return error.failure;
  const { sqlState, kind, code, message } = factsOf(error);
  if (sqlState !== null) return failureOfSqlState(sqlState);
  if (kind !== null && UNREACHABLE_KINDS.has(kind)) return 'unavailable';
  if (code !== null && UNREACHABLE_CODES.has(code)) return 'unavailable';
  if (code === 'P2034') return 'conflict';
  return UNREACHABLE_MESSAGE.test(message) ? 'unavailable' : 'bug';
}

/**
 * The error as it may be thrown on, logged and kept with a failed job. One that is no error of
 * Postgres is handed back as it is.
 */
export function withoutValues(error: unknown): unknown {
  if (error instanceof StoreError) return error;
  const { sqlState, kind, code } = factsOf(error);
  const failure = failureOf(error);
  const known = sqlState ?? kind ?? code;
  return known === null && failure === 'bug' ? error : new StoreError(failure, known);
}

/** By SQLSTATE (PostgreSQL, Appendix A): the exact code, else its class. */
function failureOfSqlState(sqlState: string): Failure {
  return BY_SQL_STATE[sqlState] ?? BY_SQL_STATE[sqlState.slice(0, 2)] ?? 'bug';
}

const BY_SQL_STATE: Record<string, Failure> = {
  '08': 'unavailable', // connection
  '21': 'data', // cardinality: one key twice in an upsert
  '22': 'data', // data exception
  '23': 'data', // integrity constraint
  '25006': 'unavailable', // read-only: a standby, during a failover
  '25P03': 'unavailable', // idle in transaction for too long
  '25P04': 'unavailable', // transaction timeout
  '28': 'unavailable', // not let in: a password is being changed
  '3D': 'unavailable', // no such database: being restored
  '3F': 'unavailable', // no such schema
  '40': 'conflict', // serialisation, deadlock
  '42501': 'unavailable', // a privilege is missing
  '42703': 'unavailable', // no such column: started before the migration
  '42P01': 'unavailable', // no such table
  '53': 'unavailable', // memory, disk, connections
  '54': 'data', // larger than an index row or a statement may be
  '55P03': 'unavailable', // lock timeout: a lock is held for long, by a migration perhaps
  '57': 'unavailable', // shutdown, restart, statement timeout
  '58': 'unavailable', // an error of the system below
  '72': 'conflict', // snapshot too old
};

/** As @prisma/driver-adapter-utils names what has no SQLSTATE. */
const UNREACHABLE_KINDS = new Set([
  'ConnectionClosed',
  'DatabaseNotReachable',
  'SocketTimeout',
  'TlsConnectionError',
]);

/** Of Prisma (https://www.prisma.io/docs/orm/reference/error-reference) and of sockets. */
const UNREACHABLE_CODES = new Set([
  'P1000',
  'P1001',
  'P1002',
  'P1003',
  'P1008',
  'P1010',
  'P1011',
  'P1017',
  'P2021',
  'P2022',
  'P2024', // no connection of the pool came free
  'P2028', // no transaction could be started, or it took too long
  'P2037',
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT', // no socket file
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
]);

/** pg gives these no code (client.js, pg-pool). */
const UNREACHABLE_MESSAGE =
  /^(Connection terminated|timeout expired|timeout exceeded when trying to connect|Client has encountered a connection error|Client was closed|Cannot use a pool after calling end)/;

interface Facts {
  sqlState: string | null;
  kind: string | null;
  code: string | null;
  message: string;
}

function factsOf(error: unknown): Facts {
  // Around a statement Prisma wraps the adapter's error; around BEGIN and COMMIT it throws it bare.
  const adapterError = property(property(error, 'meta'), 'driverAdapterError') ?? error;
  const cause = property(adapterError, 'cause');
  const code = text(property(error, 'code'));
  const ownState = property(error, 'severity') === undefined ? null : code;
  return {
    // Prisma's errors carry it in their cause, those of pg are marked by a severity.
    sqlState: text(property(cause, 'originalCode')) ?? ownState,
    kind: text(property(cause, 'kind')),
    code,
    message: text(property(error, 'message')) ?? '',
  };
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? (Reflect.get(value, name) as unknown)
    : undefined;
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Prisma.PrismaClientKnownRequestError && error.code === code;

/** Whether a write failed because a unique value is there already. */
export const isUniqueViolation = (error: unknown): boolean => hasCode(error, 'P2002');

/** Whether a write failed because what it refers to does not exist. */
export const isForeignKeyViolation = (error: unknown): boolean => hasCode(error, 'P2003');

/** Whether there was nothing to change. */
export const isNotFound = (error: unknown): boolean => hasCode(error, 'P2025');
