import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A landing page's own server, on an origin of its own. */
export interface Site {
  origin: string;
  close(): Promise<void>;
}

/** Answers every address with the same page, and with these headers. */
export async function openSite(html: string, headers: Record<string, string> = {}): Promise<Site> {
  // Long addresses are among what is tested.
  const server = createServer({ maxHeaderSize: 2 ** 20 }, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...headers }).end(html);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    // Another name than the receiver's: another site to the browser, not only another port.
    origin: `http://localhost:${port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
