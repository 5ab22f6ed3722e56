import { hash } from 'node:crypto';

/** Each connection keeps a plan under each name, and statements whose lists vary in length have many. */
const MOST_NAMES = 64;

/**
 * Names for statements that come again, so that Postgres parses and plans them once a connection. The
 * empty name, which keeps nothing, for what comes once `MOST_NAMES` texts have one: those that are
 * used first, and most, are a worker's.
 */
export function createStatementNames(): (query: { sql: string }) => string {
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
