/** A server of a test's own, to kill or to fill. */
export interface OwnServer {
  url: string;
  port: number;
  pid: number;
  kill: (signal?: NodeJS.Signals) => Promise<void>;
  /** Starts it again on the same port with the same data, after kill. */
  restart: () => Promise<void>;
  stop: () => Promise<void>;
}

export function startRedisServer(): Promise<OwnServer> {
  return Promise.reject(new Error('not yet'));
}
export function startPostgresServer(): Promise<OwnServer> {
  return Promise.reject(new Error('not yet'));
}
