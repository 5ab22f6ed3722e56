import type { Session } from '../session.ts';
import { examinePostgres } from './examine-postgres.ts';
import { examineRedis } from './examine-redis.ts';

/** What a check came to. */
export interface Finding {
  check: string;
  /** `warn` does its work, but promises less or needs a look. */
  status: 'ok' | 'warn' | 'fail';
  found: string;
  /** What to do about it; null if nothing is to be done. */
  todo: string | null;
}

/** What Postgres says, to hold Redis against; null if it cannot be asked. */
export interface PostgresFacts {
  directoryRevision: number;
  workspaces: { id: string; name: string }[];
}

/** Examines everything that can be reached. Never rejects for a server that is away. */
export async function examine(session: Session): Promise<Finding[]> {
  const postgres = await examinePostgres(session);
  const redis = await examineRedis(session, postgres.facts);
  return [...postgres.findings, ...redis];
}
