import { ConfigError, errorFacts, redactUrl, StartError } from '@leadgate/boot';
import { failureOf, MigrationError } from '@leadgate/store';
import { EXIT, type ExitStatus, Failure } from './io.ts';
import { showable } from './print/showable.ts';
import type { Session } from './session.ts';

/** What went wrong and what to do, in a sentence, and how the command exits. */
interface Explanation {
  sentence: string;
  status: ExitStatus;
}

/** Explains an error of a command. The database is named if Postgres is the matter. */
export function explain(error: unknown, session: Pick<Session, 'databaseUrl'>): Explanation {
  if (error instanceof Failure) return { sentence: error.message, status: error.status };
  if (error instanceof ConfigError) return { sentence: error.message, status: EXIT.usage };
  if (error instanceof StartError) return { sentence: error.message, status: EXIT.unreachable };
  if (error instanceof MigrationError) return { sentence: error.message, status: EXIT.failed };
  const { code, message, type } = errorFacts(error);
  if (error instanceof Error && error.message.startsWith('MOVED '))
    return {
      sentence: 'Redis is a node of a Cluster: set REDIS_CLUSTER to 1.',
      status: EXIT.usage,
    };
  if (isOfRedis(error))
    return {
      sentence: `Redis stopped answering (${showable(code ?? message)}): see that it runs, then try again.`,
      status: EXIT.unreachable,
    };
  if (failureOf(error) === 'unavailable') return explainPostgres(code, session);
  return {
    sentence: `this should not happen (${type}${code === undefined ? '' : ` ${code}`}: ${showable(message)}). Please report it with what was typed.`,
    status: EXIT.failed,
  };
}

function explainPostgres(
  code: string | undefined,
  session: Pick<Session, 'databaseUrl'>,
): Explanation {
  const where = `Postgres at ${whereIs(session.databaseUrl())}`;
  const failed = (sentence: string) => ({ sentence, status: EXIT.failed });
  const unreachable = (sentence: string) => ({ sentence, status: EXIT.unreachable });
  switch (code) {
    case '42P01':
    case '42703':
    case '3F000':
    case 'P2021':
    case 'P2022':
      return failed(`${where} lacks tables of this version: run leadgate migrate (or npm start).`);
    case '57014':
      return failed(`${where} took too long to answer: ask for less, or try again later.`);
    case '3D000':
    case 'P1003':
      return unreachable(`${where} has no such database: create it, or mend DATABASE_URL.`);
    case '28000':
    case '28P01':
    case 'P1000':
    case 'P1010':
    case '42501':
      return unreachable(`${where} does not let this user in: mend DATABASE_URL.`);
    default:
      return unreachable(
        `${where} cannot be reached${code === undefined ? '' : ` (${code})`}: start it, or set DATABASE_URL to where it is.`,
      );
  }
}

/** Host, port and database of Redis, of a Cluster those of each node that is named. */
export function whereRedisIs(url: string): string {
  const parts = url.split(',').map((part) => (part.includes('://') ? part : `redis://${part}`));
  return parts.every((part) => URL.canParse(part)) ? parts.map(whereIs).join(', ') : whereIs(url);
}

/** Host, port and database of a URL, without user and password. */
export function whereIs(url: string): string {
  if (!URL.canParse(url)) return redactUrl(url);
  const { host, pathname, searchParams } = new URL(url);
  return showable(`${host || (searchParams.get('host') ?? 'localhost')}${pathname}`);
}

/** As ioredis throws them. */
function isOfRedis(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return (
    /^(ReplyError|ReservationError|MaxRetriesPerRequestError|AbortError|ClusterAllFailedError)$/.test(
      error.name,
    ) ||
    /^(Command timed out|Connection is closed\.?|Stream isn't writeable|Cluster isn't ready|Too many Cluster redirections|None of startup nodes)/.test(
      error.message,
    )
  );
}
