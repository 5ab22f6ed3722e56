import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startOwnRedis } from './own-server.js';
import { CLUSTER_BUS } from './redis.js';
import { openSilentProxy } from './silent-proxy.js';

/** @typedef {import('./own-server.js').OwnServer} OwnServer */
/** @typedef {import('./silent-proxy.js').SilentProxy} SilentProxy */
/** @typedef {import('./silent-proxy.js').Network} Network */

/**
 * A Redis Cluster of one's own on the loopback interface: to kill, freeze and reshard. It does not
 * outlive the process that started it.
 * @typedef {object} OwnCluster
 * @property {readonly OwnServer[]} nodes masters first, as they were at the start
 * @property {readonly string[]} urls of all nodes, with their password
 * @property {(place: string | number) => Promise<OwnServer>} masterOf who serves a key or slot now, as
 *   the nodes that answer see it
 * @property {(place: string | number) => Promise<OwnServer[]>} replicasOf the other nodes with its data
 * @property {(place: string | number) => Promise<number>} slotOf of a key
 * @property {(slots: readonly number[], to: OwnServer) => Promise<number>} moveSlots moves slots with
 *   their keys to a master, while they are in use; resolves to the number of keys
 * @property {() => Promise<void>} settle waits until every node that runs sees every slot served, and
 *   every replica has what its master has
 * @property {() => Promise<void>} flush removes all keys
 * @property {(node: OwnServer) => readonly Network[]} networksOf what stands between a node and all
 *   others, clients and nodes, and what it fetches from others itself, if it was asked for
 * @property {() => Promise<void>} stop
 */

const SLOTS = 16_384;
const WITHIN_MS = 30_000;
const KEYS_AT_ONCE = 100;

/**
 * Starts a cluster as in production: AOF always and noeviction, by default three masters with a
 * replica each, and Redis's own rule that all slots are down while one is. It notices a node that is
 * gone after a second, while Redis's default is fifteen.
 * @param {object} [options]
 * @param {number} [options.masters] three at least: fewer elect nobody
 * @param {number} [options.replicas] in all, dealt out to the masters
 * @param {number} [options.nodeTimeoutMs]
 * @param {Record<string, string>} [options.settings] of redis.conf, over ours
 * @param {boolean} [options.networks] whether each node is reached through networks that can fall silent
 * @returns {Promise<OwnCluster>}
 */
export async function startOwnCluster({
  masters = 3,
  replicas = 3,
  nodeTimeoutMs = 1_000,
  settings = {},
  networks = false,
} = {}) {
  const password = randomBytes(18).toString('hex');
  /** @type {Node[]} */
  const nodes = [];
  const stop = async () => {
    for (const { admin } of nodes) admin.disconnect();
    await Promise.all(nodes.map(({ server }) => server.stop()));
    await Promise.all(nodes.flatMap((node) => node.networks.map((network) => network.close())));
  };
  try {
    // One after the other, as each looks for ports that are free.
    for (let n = 0; n < masters + replicas; n++) nodes.push(await startNode(n));
    await join(nodes, masters);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    nodes: nodes.map(({ server }) => server),
    urls: nodes.map((node) => node.networks[0]?.url ?? node.server.url),
    masterOf: async (place) => (await servingOf(nodes, await slotOf(nodes, place))).master,
    replicasOf: async (place) => (await servingOf(nodes, await slotOf(nodes, place))).replicas,
    slotOf: (place) => slotOf(nodes, place),
    moveSlots: async (slots, to) => {
      let keys = 0;
      for (const slot of slots) keys += await moveSlot(nodes, slot, to, password);
      return keys;
    },
    settle: () => settle(nodes),
    networksOf: (server) =>
      nodes.flatMap(({ server: other, networks: before }) => {
        const address = addressOf(nodes.findIndex((node) => node.server === server));
        return before.map((network) => (other === server ? network : network.from(address)));
      }),
    flush: async () => {
      for (const { admin } of await masterNodes(nodes)) await admin.flushall();
    },
    stop,
  };

  /** @param {number} n */
  async function startNode(n) {
    /** @type {Record<string, string>} */
    const own = {
      // What it connects to tells it from the others by that.
      ...(networks && { 'bind-source-addr': addressOf(n) }),
      requirepass: password,
      masterauth: password,
      'cluster-enabled': 'yes',
      'cluster-node-timeout': nodeTimeoutMs.toString(),
      'repl-timeout': '10',
      'repl-ping-replica-period': '2',
      // Who replicates whom stays as it is dealt out.
      'cluster-allow-replica-migration': 'no',
      'repl-diskless-sync-delay': '0',
      ...settings,
    };
    const server = await startOwnRedis(own);
    const admin = new Redis(server.url, {
      commandTimeout: 2_000,
      maxRetriesPerRequest: 1,
      retryStrategy: () => 50,
      // Its own idea of ready is that of a cluster that is whole.
      enableReadyCheck: false,
    });
    admin.on('error', () => undefined);
    return { server, admin, networks: networks ? await putNetworksBefore(server, own) : [] };

    /**
     * The node says from now on that it is to be found there, after a start as well.
     * @param {OwnServer} server
     * @param {Record<string, string>} own
     */
    async function putNetworksBefore(server, own) {
      const bus = new URL(server.url);
      bus.port = (server.port + CLUSTER_BUS).toString();
      const both = await Promise.all([openSilentProxy(server.url), openSilentProxy(bus.href)]);
      for (const [n, name] of ['cluster-announce-port', 'cluster-announce-bus-port'].entries()) {
        own[name] = String(both[n]?.port);
        await admin.config('SET', name, own[name]);
      }
      return both;
    }
  }
}

/** @typedef {{ server: OwnServer, admin: Redis, networks: readonly SilentProxy[] }} Node */

/** Where the nth node connects from. @param {number} n */
const addressOf = (n) => `127.0.1.${(n + 1).toString()}`;

/** As other nodes and clients know it. @param {Node} node */
const portOf = ({ server, networks }) => networks[0]?.port ?? server.port;

/**
 * @param {Node[]} nodes
 * @param {number} masters
 */
async function join(nodes, masters) {
  const [first, ...others] = nodes;
  if (first === undefined) return;
  for (const [n, { admin }] of nodes.entries()) {
    await admin.call('CLUSTER', 'SET-CONFIG-EPOCH', (n + 1).toString());
    if (n < masters) await admin.cluster('ADDSLOTS', ...shareOf(n, masters));
  }
  for (const node of others)
    await first.admin.call(
      ...['CLUSTER', 'MEET', '127.0.0.1', portOf(node).toString()],
      (node.networks[1]?.port ?? node.server.port + CLUSTER_BUS).toString(),
    );
  await eventually('all nodes know each other', async () => {
    const known = await Promise.all(nodes.map(({ admin }) => clusterInfo(admin)));
    return known.every((info) => info.get('cluster_known_nodes') === nodes.length.toString());
  });
  for (const [n, { admin }] of nodes.slice(masters).entries()) {
    const master = await nodes[n % masters]?.admin.cluster('MYID');
    // Gossip may bring the node without its role yet.
    await eventually('a replica finds its master', () =>
      admin.cluster('REPLICATE', String(master)).then(
        () => true,
        () => false,
      ),
    );
  }
  await settle(nodes);
}

/**
 * @param {number} n
 * @param {number} masters
 */
function shareOf(n, masters) {
  const from = Math.floor((n * SLOTS) / masters);
  const below = Math.floor(((n + 1) * SLOTS) / masters);
  return Array.from({ length: below - from }, (_, i) => from + i);
}

/** @param {Node[]} nodes */
async function settle(nodes) {
  await eventually('the cluster is whole', async () => {
    const running = await answering(nodes);
    const views = await Promise.all(running.map(({ admin }) => viewOf(admin)));
    const links = await Promise.all(running.map(({ admin }) => replicationInfo(admin)));
    const [view] = views;
    return (
      views.every(({ isOk }) => isOk) &&
      new Set(views.map(({ shares }) => JSON.stringify(shares))).size === 1 &&
      new Set(view?.shares.flatMap(({ ports }) => ports)).size === running.length &&
      links.every(
        (info) => info.get('role') === 'master' || info.get('master_link_status') === 'up',
      )
    );
  });
}

/**
 * What a node believes: who serves which slots, the master first.
 * @param {Redis} admin
 */
async function viewOf(admin) {
  const info = await clusterInfo(admin);
  const slots = await admin.cluster('SLOTS');
  return {
    isOk: info.get('cluster_state') === 'ok' && info.get('cluster_slots_ok') === SLOTS.toString(),
    epoch: Number(info.get('cluster_current_epoch')),
    shares: slots
      .map(([from, to, ...served]) => {
        const [master = 0, ...replicas] = served.map(([, port]) => port);
        return { from, to, ports: [master, ...replicas.sort()] };
      })
      .sort((a, b) => a.from - b.from),
  };
}

/**
 * @param {Node[]} nodes
 * @param {string | number} place
 */
async function slotOf(nodes, place) {
  if (typeof place === 'number') return place;
  const [node] = await answering(nodes);
  return Number(await node?.admin.cluster('KEYSLOT', place));
}

/**
 * By the node that has heard of the latest change.
 * @param {Node[]} nodes
 * @param {number} slot
 */
async function servingOf(nodes, slot) {
  const views = await Promise.all((await answering(nodes)).map(({ admin }) => viewOf(admin)));
  views.sort((a, b) => b.epoch - a.epoch);
  const ports = views[0]?.shares.find(({ from, to }) => from <= slot && slot <= to)?.ports ?? [];
  const [master, ...replicas] = ports.map((port) => nodeAt(nodes, port).server);
  if (master === undefined) throw new Error(`nobody serves slot ${slot.toString()}`);
  return { master, replicas };
}

/**
 * @param {Node[]} nodes
 * @param {number} port
 */
function nodeAt(nodes, port) {
  const node = nodes.find((one) => portOf(one) === port);
  if (node === undefined) throw new Error(`no node of this cluster has port ${port.toString()}`);
  return node;
}

/** @param {Node[]} nodes */
async function masterNodes(nodes) {
  const infos = await Promise.all(
    (await answering(nodes)).map(async (node) => ({
      node,
      role: (await replicationInfo(node.admin)).get('role'),
    })),
  );
  return infos.filter(({ role }) => role === 'master').map(({ node }) => node);
}

/**
 * As redis-cli does it: senders are redirected key by key while they move.
 * @param {Node[]} nodes
 * @param {number} slot
 * @param {OwnServer} to
 * @param {string} password
 */
async function moveSlot(nodes, slot, to, password) {
  const target = nodes.find(({ server }) => server === to);
  if (target === undefined) throw new Error('it is no node of this cluster');
  const { master } = await servingOf(nodes, slot);
  const source = nodes.find(({ server }) => server === master) ?? target;
  if (source === target) return 0;
  const [sourceId, targetId] = await Promise.all([
    source.admin.cluster('MYID'),
    target.admin.cluster('MYID'),
  ]);
  await target.admin.cluster('SETSLOT', slot, 'IMPORTING', String(sourceId));
  await source.admin.cluster('SETSLOT', slot, 'MIGRATING', String(targetId));
  let moved = 0;
  for (;;) {
    const keys = /** @type {string[]} */ (
      await source.admin.cluster('GETKEYSINSLOT', slot, KEYS_AT_ONCE)
    );
    if (keys.length === 0) break;
    await source.admin.call(
      ...['MIGRATE', '127.0.0.1', to.port.toString(), '', '0', '2000'],
      ...['AUTH', password, 'KEYS', ...keys],
    );
    moved += keys.length;
  }
  await target.admin.cluster('SETSLOT', slot, 'NODE', String(targetId));
  await source.admin.cluster('SETSLOT', slot, 'NODE', String(targetId));
  for (const { admin } of await masterNodes(nodes))
    await admin.cluster('SETSLOT', slot, 'NODE', String(targetId));
  return moved;
}

/**
 * The nodes that run and are not paused.
 * @param {Node[]} nodes
 */
async function answering(nodes) {
  const answers = await Promise.allSettled(nodes.map(({ admin }) => admin.ping()));
  return nodes.filter((_, n) => answers[n]?.status === 'fulfilled');
}

/** @param {Redis} admin */
const clusterInfo = async (admin) => fieldsOf(String(await admin.cluster('INFO')));

/** @param {Redis} admin */
const replicationInfo = async (admin) => fieldsOf(await admin.info('replication'));

/** @param {string} text */
function fieldsOf(text) {
  return new Map(
    text.split('\r\n').map((line) => {
      const [name = '', ...value] = line.split(':');
      return /** @type {const} */ ([name, value.join(':')]);
    }),
  );
}

/**
 * @param {string} what
 * @param {() => Promise<boolean>} condition
 */
async function eventually(what, condition) {
  const deadline = Date.now() + WITHIN_MS;
  while (!(await condition().catch(() => false))) {
    if (Date.now() > deadline)
      throw new Error(`waited ${(WITHIN_MS / 1_000).toString()} s in vain until ${what}`);
    await delay(50);
  }
}
