import { errorFacts, StartError } from '@leadgate/boot';
import { PrismaPg } from '@prisma/adapter-pg';
import { hash } from 'node:crypto';
import { Socket } from 'node:net';
import pg from 'pg';
import { setTimeout as delay } from 'node:timers/promises';
import { failureOf, StoreError, withoutValues } from './failure-of.ts';
import { type Prisma, PrismaClient } from './generated/client.ts';
import { directoryRevision } from './refill-source.ts';
import { inTransaction, type Statements, statementsOf } from './statements.ts';

export interface StoreOptions {
  /** postgresql://…; `pgbouncer=true` in it, as Prisma writes it, where a PgBouncer answers. */
  url: string;
  /** Connections at most. */
  poolSize: number;
  /** Postgres ends a statement that runs longer. Milliseconds. */
  statementTimeoutMs?: number;
  /** Of `erasureKeyOf`: without it nobody is erased, and tombstones are not looked at. */
  erasureKey?: Uint8Array;
  /** Told of idle connections that broke. */
  logger?: { warn: (details: object, message: string) => void };
}

/** Postgres, as the functions of this package take it. */
export interface Store {
  /** For the statements of this package only. */
  readonly prisma: PrismaClient;
  /** The rows of a statement that is asked often, on the same connections: see statements.ts. */
  readonly query: <Row extends object>(statement: Prisma.Sql) => Promise<Row[]>;
  /** A transaction of such statements. */
  readonly transaction: <T>(run: (tx: Statements) => Promise<T>) => Promise<T>;
  /** What the identities of erased people are hashed under; null: tombstones are not looked at. */
  readonly erasureKey: Uint8Array | null;
  /**
   * Waits for what is running and closes every connection. Where Postgres hangs it resolves after two
   * seconds all the same: what does not answer ends with the process.
   */
  close: () => Promise<void>;
}

const STATEMENT_TIMEOUT_MS = 8_000;
const CONNECT_TIMEOUT_MS = 5_000;

/**
 * A server that is gone without a word (a host that died, packets that are dropped) is told from a slow
 * one by time alone: TCP would try for a quarter of an hour. Postgres ends a statement before a
 * connection is given up, so what is silent for so long is gone.
 */
const SILENT_AFTER_STATEMENT_MS = 2_000;
/** What is idle may have gone silent unnoticed: not much of it is kept for the next statement. */
const IDLE_TIMEOUT_MS = 2_000;
/** The rows of a process that is gone, or stopped, in the middle of a transaction are free after this. */
const IDLE_IN_TRANSACTION_MS = 5_000;

/**
 * Said once a connection: transactions in which each statement sees what was committed before it, and
 * which need no statement of their own to ask for that.
 */
const SESSION = ['-c TimeZone=UTC', '-c default_transaction_isolation=read\\ committed'];
const CLOSE_WITHIN_MS = 2_000;

/**
 * Opens the store without connecting: the first statement does, and so does the first one after an
 * outage. Statements reject when Postgres cannot be reached; `failureOf` says so.
 */
export function openStore(options: StoreOptions): Store {
  const { url, poolSize, logger, statementTimeoutMs = STATEMENT_TIMEOUT_MS } = options;
  const pool = new pg.Pool({
    ...connectionOf(url, statementTimeoutMs),
    max: poolSize,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: IDLE_TIMEOUT_MS,
    keepAlive: true,
    stream: () => boundedSocket(statementTimeoutMs + SILENT_AFTER_STATEMENT_MS),
    application_name: 'leadgate',
  });
  // Unheard, the error of an idle connection ends the process.
  pool.on('error', (error: NodeJS.ErrnoException) => {
    logger?.warn({ code: error.code }, 'an idle connection to Postgres broke');
  });
  // So does that of one that broke as it was made, between the pool's ear and that of who takes it: their statement
  // fails then.
  pool.on('connect', (client) => client.on('error', () => undefined));
  const adapter = new PrismaPg(
    pool,
    isPooled(url) ? {} : { statementNameGenerator: createStatementNames() },
  );
  const driver = adapter.connect();
  const prisma = new PrismaClient({
    adapter,
    errorFormat: 'minimal',
    transactionOptions: { maxWait: CONNECT_TIMEOUT_MS, timeout: 2 * statementTimeoutMs },
  });
  return {
    prisma,
    query: async (statement) => statementsOf(await driver).$queryRaw(statement),
    transaction: async (run) => inTransaction(await driver, run),
    erasureKey: options.erasureKey ?? null,
    close: async () => {
      const closed = prisma.$disconnect().then(() => (pool.ending ? undefined : pool.end()));
      await Promise.race([closed, delay(CLOSE_WITHIN_MS, undefined, { ref: false })]);
    },
  };
}

/**
 * A socket that fails when nothing comes or goes for so long. pg's own `query_timeout` would leave the
 * connection of a transaction in the pool, with its answer still to come.
 */
function boundedSocket(silentAfterMs: number): Socket {
  const socket = new Socket();
  socket.setTimeout(silentAfterMs, () => {
    socket.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' }));
  });
  return socket;
}

/**
 * Prisma writes and reads times as UTC without saying so: a session in another time zone stores
 * them shifted. PgBouncer refuses start-up parameters; behind it the role carries these settings
 * (ALTER ROLE … SET).
 */
export function connectionOf(url: string, statementTimeoutMs: number) {
  const connection = new URL(url);
  const given = connection.searchParams.get('options');
  // What the URL says would win over what is given beside it.
  connection.searchParams.delete('pgbouncer');
  connection.searchParams.delete('options');
  if (isPooled(url)) return { connectionString: connection.href };
  return {
    connectionString: connection.href,
    options: [...(given === null ? [] : [given]), ...SESSION].join(' '),
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: Math.min(statementTimeoutMs, IDLE_IN_TRANSACTION_MS),
  };
}

/** A PgBouncer before 1.21 hands the next statement to a connection that never heard of its name. */
export function isPooled(url: string): boolean {
  return new URL(url).searchParams.get('pgbouncer') === 'true';
}

/**
 * Resolves if Postgres answers and takes writes. Rejects with a StoreError (`unavailable`) where
 * it does not: away, starting, out of connections, a standby, or set read-only.
 */
export async function requireWritable(store: Store): Promise<void> {
  const readOnly = await askReadOnly(store);
  // As a write would be refused: read_only_sql_transaction.
  if (readOnly) throw new StoreError('unavailable', '25006');
}

async function askReadOnly(store: Store): Promise<boolean> {
  try {
    const [row] = await store.prisma.$queryRaw<{ readOnly: boolean }[]>`
      SELECT current_setting('transaction_read_only')::boolean AS "readOnly"`;
    return row?.readOnly ?? false;
  } catch (error) {
    throw withoutValues(error);
  }
}

/** Each connection keeps a plan under each name, and statements whose lists vary in length have many. */
const MOST_NAMES = 64;

/**
 * Names for statements that come again, so that Postgres parses and plans them once a connection. The
 * empty name, which keeps nothing, for what comes once `MOST_NAMES` texts have one: those that are
 * used first, and most, are a worker's.
 */
function createStatementNames(): (query: { sql: string }) => string {
  const names = new Map<string, string>();
  return ({ sql }) => {
    const known = names.get(sql);
    if (known !== undefined) return known;
    if (names.size === MOST_NAMES) return '';
    const name = `leadgate_${hash('sha1', sql).slice(0, 16)}`;
    names.set(sql, name);
    return name;
  };
}

/**
 * Makes sure that Postgres answers and has its tables. Throws a StartError that says what to do
 * otherwise: a wrong address should not look like an outage that will pass.
 */
export async function requirePostgres(store: Store, url: string): Promise<void> {
  try {
    await directoryRevision(store);
  } catch (error) {
    if (failureOf(error) !== 'unavailable') throw error;
    const { code, message } = errorFacts(error);
    if (code === '42P01')
      throw new StartError(
        'Postgres has no tables of Leadgate yet: apply the migrations first (npm start does).',
        { cause: error },
      );
    throw new StartError(
      `Postgres cannot be used at ${placeOf(url)} (${code ?? message}): start it, or set DATABASE_URL to where it is.`,
      { cause: error },
    );
  }
}

function placeOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}
