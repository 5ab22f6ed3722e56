import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { startOwnRedis } from './own-server.js';
import { waitUntil } from './process.js';
import { CLUSTER_BUS } from './redis.js';
import { openSilentProxy } from './silent-proxy.js';

/** @typedef {import('./own-server.js').OwnServer} OwnServer */
/** @typedef {import('./silent-proxy.js').SilentProxy} SilentProxy */
/** @typedef {import('./silent-proxy.js').Network} Network */

const SLOTS = 16_384;
const WITHIN_MS = 30_000;
const KEYS_AT_ONCE = 100;
/** Fewer elect none. */
const MASTERS = 3;
const REPLICAS = 3;

/**
 * Starts a cluster as in production: AOF always and noeviction, three masters with a replica each, and
 * Redis's own rule that all slots are down while one is. It notices a node that is gone after a second,
 * while Redis's default is fifteen.
 * @param {object} [options]
 * @param {number} [options.nodeTimeoutMs]
 * @param {boolean} [options.networks] whether each node is reached through networks that can fall silent
 */
export async function startOwnCluster({ nodeTimeoutMs = 1_000, networks = false } = {}) {
  const password = randomBytes(18).toString('hex');
  /** @type {Node[]} */
  const nodes = [];
  const cluster = new OwnCluster(nodes, password);
  try {
    // One after the other, as each looks for ports that are free.
    for (let n = 0; n < MASTERS + REPLICAS; n++)
      nodes.push(await startNode(n, { password, nodeTimeoutMs, networks }));
    await join(nodes);
    await cluster.settle();
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

/**
 * A Redis Cluster of one's own on the loopback interface: to kill, freeze and reshard. It does not
 * outlive the process that started it.
 */
export class OwnCluster {
  #nodes;
  #password;

  /** @param {Node[]} nodes @param {string} password */
  constructor(nodes, password) {
    this.#nodes = nodes;
    this.#password = password;
  }

  /** Masters first, as they were at the start. */
  get nodes() {
    return this.#nodes.map(({ server }) => server);
  }

  /** Of all nodes, with their password. */
  get urls() {
    return this.#nodes.map((node) => node.networks[0]?.url ?? node.server.url);
  }

  /** Who serves a key or slot now, as the nodes that answer see it. @param {string | number} place */
  async masterOf(place) {
    return (await this.#servingOf(place)).master;
  }

  /** The other nodes with its data. @param {string | number} place */
  async replicasOf(place) {
    return (await this.#servingOf(place)).replicas;
  }

  /** Of a key. @param {string | number} place */
  async slotOf(place) {
    if (typeof place === 'number') return place;
    const [node] = await answering(this.#nodes);
    return Number(await node?.admin.cluster('KEYSLOT', place));
  }

  /**
   * Moves slots with their keys to a master, while they are in use; resolves to the number of keys.
   * @param {readonly number[]} slots
   * @param {OwnServer} to
   */
  async moveSlots(slots, to) {
    let keys = 0;
    for (const slot of slots) keys += await this.#moveSlot(slot, to);
    return keys;
  }

  /** Waits until every node that runs sees every slot served, and every replica has what its master has. */
  async settle() {
    await eventually('the cluster is whole', async () => {
      const running = await answering(this.#nodes);
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

  /** Removes all keys. */
  async flush() {
    for (const { admin } of await masterNodes(this.#nodes)) await admin.flushall();
  }

  /**
   * What stands between a node and all others, clients and nodes, and what it fetches from others itself, if it
   * was asked for.
   * @param {OwnServer} server
   * @returns {readonly Network[]}
   */
  networksOf(server) {
    const address = addressOf(this.#nodes.findIndex((node) => node.server === server));
    return this.#nodes.flatMap(({ server: other, networks }) =>
      networks.map((network) => (other === server ? network : network.from(address))),
    );
  }

  async stop() {
    for (const { admin } of this.#nodes) admin.disconnect();
    await Promise.all(this.#nodes.map(({ server }) => server.stop()));
    await Promise.all(this.#nodes.flatMap(({ networks }) => networks.map((one) => one.close())));
  }

  /** By the node that has heard of the latest change. @param {string | number} place */
  async #servingOf(place) {
    const slot = await this.slotOf(place);
    const running = await answering(this.#nodes);
    const views = await Promise.all(running.map(({ admin }) => viewOf(admin)));
    views.sort((a, b) => b.epoch - a.epoch);
    const ports = views[0]?.shares.find(({ from, to }) => from <= slot && slot <= to)?.ports ?? [];
    const [master, ...replicas] = ports.map((port) => {
      const node = this.#nodes.find((one) => portOf(one) === port);
      if (node === undefined)
        throw new Error(`no node of this cluster has port ${port.toString()}`);
      return node.server;
    });
    if (master === undefined) throw new Error(`nobody serves slot ${slot.toString()}`);
    return { master, replicas };
  }

  /**
   * As redis-cli does it: senders are redirected key by key while they move.
   * @param {number} slot
   * @param {OwnServer} to
   */
  async #moveSlot(slot, to) {
    const target = this.#nodes.find(({ server }) => server === to);
    if (target === undefined) throw new Error('it is no node of this cluster');
    const { master } = await this.#servingOf(slot);
    const source = this.#nodes.find(({ server }) => server === master) ?? target;
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
        ...['AUTH', this.#password, 'KEYS', ...keys],
      );
      moved += keys.length;
    }
    await target.admin.cluster('SETSLOT', slot, 'NODE', String(targetId));
    await source.admin.cluster('SETSLOT', slot, 'NODE', String(targetId));
    for (const { admin } of await masterNodes(this.#nodes))
      await admin.cluster('SETSLOT', slot, 'NODE', String(targetId));
    return moved;
  }
}

/** @typedef {{ server: OwnServer, admin: Redis, networks: readonly SilentProxy[] }} Node */

/** Where the nth node connects from. @param {number} n */
const addressOf = (n) => `127.0.1.${(n + 1).toString()}`;

/** As other nodes and clients know it. @param {Node} node */
const portOf = ({ server, networks }) => networks[0]?.port ?? server.port;

/**
 * @param {number} n
 * @param {{ password: string, nodeTimeoutMs: number, networks: boolean }} options
 * @returns {Promise<Node>}
 */
async function startNode(n, { password, nodeTimeoutMs, networks }) {
  /** @type {Record<string, string>} */
  const settings = {
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
  };
  const server = await startOwnRedis(settings);
  const admin = new Redis(server.url, {
    commandTimeout: 2_000,
    maxRetriesPerRequest: 1,
    retryStrategy: () => 50,
    // Its own idea of ready is that of a cluster that is whole.
    enableReadyCheck: false,
  });
  admin.on('error', () => undefined);
  if (!networks) return { server, admin, networks: [] };
  const bus = new URL(server.url);
  bus.port = (server.port + CLUSTER_BUS).toString();
  const both = await Promise.all([openSilentProxy(server.url), openSilentProxy(bus.href)]);
  // It says from now on that it is to be found there, after a start as well.
  for (const [at, name] of ['cluster-announce-port', 'cluster-announce-bus-port'].entries()) {
    settings[name] = String(both[at]?.port);
    await admin.config('SET', name, settings[name]);
  }
  return { server, admin, networks: both };
}

/** @param {Node[]} nodes */
async function join(nodes) {
  const [first, ...others] = nodes;
  if (first === undefined) return;
  for (const [n, { admin }] of nodes.entries()) {
    await admin.call('CLUSTER', 'SET-CONFIG-EPOCH', (n + 1).toString());
    if (n < MASTERS) await admin.cluster('ADDSLOTS', ...shareOf(n));
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
  for (const [n, { admin }] of nodes.slice(MASTERS).entries()) {
    const master = await nodes[n]?.admin.cluster('MYID');
    // Gossip may bring the node without its role yet.
    await eventually('a replica finds its master', () =>
      admin.cluster('REPLICATE', String(master)).then(() => true),
    );
  }
}

/** @param {number} n of a master */
function shareOf(n) {
  const from = Math.floor((n * SLOTS) / MASTERS);
  const below = Math.floor(((n + 1) * SLOTS) / MASTERS);
  return Array.from({ length: below - from }, (_, i) => from + i);
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

/** @param {Node[]} nodes */
async function masterNodes(nodes) {
  const running = await answering(nodes);
  const infos = await Promise.all(running.map(({ admin }) => replicationInfo(admin)));
  return running.filter((_, n) => infos[n]?.get('role') === 'master');
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
  if (!(await waitUntil(() => condition().catch(() => false), WITHIN_MS)))
    throw new Error(`waited ${(WITHIN_MS / 1_000).toString()} s in vain until ${what}`);
}
