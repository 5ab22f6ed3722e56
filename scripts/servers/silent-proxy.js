import { once } from 'node:events';
import { connect, createServer } from 'node:net';

/**
 * Stands before a server, and can fall silent as a network does that drops every packet: what is
 * connected hears nothing any more, either way, and nothing is closed or refused.
 * @typedef {object} SilentProxy
 * @property {string} url of the server, by way of the proxy
 * @property {number} port
 * @property {() => void} silence whoever is connected, and whoever connects from now on
 * @property {() => void} admit lets new connections through. Those that were silenced stay so: their
 *   packets went to a host that is gone. The server gives them up
 * @property {() => number} silenced connections that still wait for an answer
 * @property {() => Promise<void>} close
 */

/**
 * @param {string} target URL of the server
 * @returns {Promise<SilentProxy>}
 */
export async function openSilentProxy(target) {
  const address = new URL(target);
  /** @type {Set<Pair>} */
  const pairs = new Set();
  let isSilent = false;
  const server = createServer((client) => {
    const pair = passOn(client, Number(address.port), address.hostname);
    pairs.add(pair);
    if (isSilent) pair.silence();
    client.once('close', () => {
      // Of one that is silent the server does not hear that the other end is gone.
      if (!pair.isSilent()) pairs.delete(pair);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  const url = new URL(target);
  url.host = `127.0.0.1:${port.toString()}`;
  return {
    url: url.href,
    port,
    silence: () => {
      isSilent = true;
      for (const pair of pairs) pair.silence();
    },
    admit: () => {
      isSilent = false;
      for (const pair of pairs) {
        if (!pair.isSilent()) continue;
        pair.giveUp();
        if (pair.client.closed) pairs.delete(pair);
      }
    },
    silenced: () => [...pairs].filter((pair) => pair.isSilent() && !pair.client.closed).length,
    close: async () => {
      for (const { client, giveUp } of pairs) {
        client.destroy();
        giveUp();
      }
      server.close();
      await once(server, 'close');
    },
  };
}

/**
 * @typedef {object} Pair
 * @property {import('node:net').Socket} client
 * @property {() => void} silence
 * @property {() => boolean} isSilent
 * @property {() => void} giveUp ends the server's side
 */

/**
 * @param {import('node:net').Socket} client
 * @param {number} port
 * @param {string} host
 * @returns {Pair}
 */
function passOn(client, port, host) {
  const server = connect(port, host);
  let silent = false;
  for (const [from, to] of /** @type {const} */ ([
    [client, server],
    [server, client],
  ])) {
    from.on('data', (data) => {
      if (!silent && !to.destroyed) to.write(data);
    });
    from.on('error', () => undefined);
    from.on('close', () => {
      if (!silent) to.destroy();
    });
  }
  return {
    client,
    silence: () => {
      silent = true;
    },
    isSilent: () => silent,
    giveUp: () => server.destroy(),
  };
}
