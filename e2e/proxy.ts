import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import { choosePort } from '../scripts/servers/process.js';

/**
 * HAProxy with deploy/haproxy.cfg as it is, but for addresses: it listens on a free port of loopback,
 * and has the given servers in place of those that Docker's DNS would name.
 */
export async function startProxy(
  servers: readonly string[],
): Promise<{ url: string; output: () => string; stop: () => Promise<void> }> {
  const port = await choosePort(undefined);
  const folder = mkdtempSync(join(tmpdir(), 'leadgate-proxy-'));
  const file = join(folder, 'haproxy.cfg');
  writeFileSync(file, adapt(port, servers));
  const child = spawn('haproxy', ['-db', '-f', file], { stdio: ['ignore', 'pipe', 'pipe'] });
  const killAtExit = () => void child.kill('SIGKILL');
  process.once('exit', killAtExit);
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (printed += text));
  const ended = once(child, 'close');
  const stop = async () => {
    child.kill('SIGKILL');
    await ended;
    process.removeListener('exit', killAtExit);
    rmSync(folder, { recursive: true });
  };
  const url = `http://127.0.0.1:${port}`;
  try {
    // All servers count as up until the first check says otherwise.
    await vi.waitFor(
      async () => {
        if (child.exitCode !== null) throw new Error(`haproxy ended: ${printed}`);
        const response = await fetch(`${url}/proxy-live`);
        if (!response.ok) throw new Error(`haproxy: ${response.status}`);
      },
      { timeout: 10_000, interval: 50 },
    );
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, output: () => printed, stop };
}

function adapt(port: number, servers: readonly string[]): string {
  const named = servers.map((url, n) => `    server receiver-${n + 1} ${new URL(url).host}`);
  let text = readFileSync(new URL('../deploy/haproxy.cfg', import.meta.url), 'utf8');
  const replace = (pattern: RegExp, by: string) => {
    if (!pattern.test(text)) throw new Error(`deploy/haproxy.cfg has no ${pattern.source}`);
    text = text.replace(pattern, by);
  };
  replace(/bind :8080/, `bind 127.0.0.1:${port}`);
  replace(/ {4}server-template receiver- .*/g, named.join('\n'));
  replace(/ resolvers containers init-addr none/, '');
  replace(/resolvers containers\n(?: {4}.*\n)+/, '');
  return text;
}
