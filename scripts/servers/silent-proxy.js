import { connect, createServer } from 'node:net';
import { listen } from './listen.js';

/**
 * A network that can fall silent as one does that drops every packet: what is connected hears nothing
 * any more, either way, and nothing is closed or refused.
 * @typedef {object} Network
 * @property {() => void} silence whoever is connected, and whoever connects from now on
 * @property {() => void} admit lets new connections through. Those that were silenced stay so: their
 *   packets went to a host that is gone. The server gives them up
 */

/** @typedef {Awaited<ReturnType<typeof openSilentProxy>>} SilentProxy */

/**
 * A network before a server.
 * @param {string} target URL of the server
 */
export async function openSilentProxy(target) {
  const address = new URL(target);
  /** @type {Set<ReturnType<typeof passOn>>} */
  const pairs = new Set();
  /** @type {Set<string | null>} */
  const silent = new Set();
  const server = createServer((client) => {
    const pair = passOn(client, Number(address.port), address.hostname);
    pairs.add(pair);
    if (silent.has(null) || silent.has(pair.from)) pair.silence();
    client.once('close', () => {
      // Of one that is silent the server does not hear that the other end is gone.
      if (!pair.isSilent()) pairs.delete(pair);
    });
  });
  const { port, close } = await listen(server);
  const url = Object.assign(new URL(target), { host: `127.0.0.1:${port.toString()}` });
  /** @param {string | null} from null: whoever connects @returns {Network} */
  const network = (from) => {
    const those = () => [...pairs].filter((pair) => from === null || pair.from === from);
    return {
      silence: () => {
        silent.add(from);
        for (const pair of those()) pair.silence();
      },
      admit: () => {
        silent.delete(from);
        for (const pair of those()) {
          if (!pair.isSilent()) continue;
          pair.giveUp();
          if (pair.client.closed) pairs.delete(pair);
        }
      },
    };
  };
  return {
    ...network(null),
    /** Of the server, by way of this. */
    url: url.href,
    port,
    /** Only what this address connects from. @param {string} address */
    from: (address) => network(address),
    /** Connections that still wait for an answer. */
    silenced: () => [...pairs].filter((pair) => pair.isSilent() && !pair.client.closed).length,
    close: async () => {
      for (const { client, giveUp } of pairs) {
        client.destroy();
        giveUp();
      }
      await close();
    },
  };
}

/**
 * @param {import('node:net').Socket} client
 * @param {number} port
 * @param {string} host
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
    /** The address that it connects from. */
    from: client.remoteAddress ?? '',
    silence: () => void (silent = true),
    isSilent: () => silent,
    /** Ends the server's side. */
    giveUp: () => server.destroy(),
  };
}
