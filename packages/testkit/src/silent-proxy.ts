import { openSilentProxy } from '../../../scripts/servers/silent-proxy.js';

/** A network before a server that a test can have drop every packet. */
export type SilentProxy = Awaited<ReturnType<typeof openSilentProxy>>;

/** Everything passes until it is told to be silent. */
export function startSilentProxy(url: string): Promise<SilentProxy> {
  return openSilentProxy(url);
}
