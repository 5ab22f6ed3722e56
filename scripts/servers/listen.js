import { once } from 'node:events';

/**
 * Has a server listen on the loopback interface, on a free port unless told. `close` cuts its connections, too.
 * @param {import('node:net').Server | import('node:http').Server} server
 * @param {number} [port]
 */
export async function listen(server, port = 0) {
  await once(server.listen(port, '127.0.0.1'), 'listening');
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    port: address.port,
    url: `http://127.0.0.1:${address.port.toString()}`,
    close: async () => {
      const closed = once(server.close(), 'close');
      if ('closeAllConnections' in server) server.closeAllConnections();
      await closed;
    },
  };
}
