import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { choosePort } from '../../../scripts/servers/process.js';
import { withPostgres } from '../../../scripts/servers/session.js';

/** Debian's `nobody`: PgBouncer refuses to run as root. */
const NOBODY = 65_534;

/**
 * A PgBouncer that pools transactions in front of a server, for every database of it, as its user.
 * The sessions get by `connect_query` what the store cannot ask for through it. Throws with
 * PgBouncer's own words if it does not start.
 */
export async function startPgbouncer(
  program: string,
  serverUrl: string,
): Promise<{ url: string; stop: () => Promise<void> }> {
  const { hostname, port, username, password } = new URL(serverUrl);
  const folder = mkdtempSync(join(tmpdir(), 'leadgate-pgbouncer-'));
  chmodSync(folder, 0o755);
  const listenPort = await choosePort(undefined);
  const file = join(folder, 'pgbouncer.ini');
  const login = `user=${username || 'postgres'}${password ? ` password=${password}` : ''}`;
  writeFileSync(
    file,
    `[databases]
* = host=${hostname} port=${port || '5432'} ${login} connect_query='SET TimeZone TO ''UTC'''
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listenPort.toString()}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 20
max_client_conn = 1000
`,
  );
  const asRoot = process.getuid?.() === 0;
  const child = spawn(program, [file], {
    stdio: ['ignore', 'ignore', 'pipe'],
    ...(asRoot && { uid: NOBODY, gid: NOBODY }),
  });
  let log = '';
  child.stderr.on('data', (chunk) => {
    log += String(chunk);
  });
  const exited = once(child, 'exit').catch(() => undefined);
  const stop = async () => {
    child.kill('SIGKILL');
    await exited;
    rmSync(folder, { recursive: true, force: true });
  };
  const url = `postgresql://postgres@127.0.0.1:${listenPort.toString()}/postgres?pgbouncer=true`;
  for (;;) {
    if (await answers(url)) return { url, stop };
    if (child.exitCode !== null || child.pid === undefined) {
      await stop();
      throw new Error(`PgBouncer did not start: ${log || program}`);
    }
  }
}

const answers = (url: string): Promise<boolean> =>
  withPostgres(url, (client) => client.query('SELECT 1')).then(
    () => true,
    () => false,
  );
