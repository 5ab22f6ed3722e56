import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LINK_DEFAULTS } from '@leadgate/contract';
import { openWorkspace, putLinks, refillAll } from '@leadgate/intake';
import {
  applyGroup,
  createField,
  createLink,
  createWorkspace,
  linkEntries,
  migrate,
  openStore,
  refillSource,
} from '@leadgate/store';
import { endLeftoverServers, processLedger } from '../scripts/servers/private-home.js';
import { startOwnPostgres, startOwnRedis } from '../scripts/servers/own-server.js';
import { endOf } from '../scripts/servers/process.js';
import { withPostgres, withRedis } from '../scripts/servers/session.js';
import { here } from './processes.js';
import { modelSubmission, seedPeople } from './seed.js';

/** @typedef {import('@leadgate/store').Store} Store */
/** @typedef {import('../scripts/servers/own-server.js').OwnServer} OwnServer */

/**
 * A database with a workspace that has a link and two custom fields.
 * @typedef {object} Database
 * @property {string} url
 * @property {Store} store
 * @property {string} workspaceId
 * @property {string} linkId
 * @property {string} code
 * @property {number} people that it knows
 * @property {(people: number) => Promise<void>} grow adds people up to this many
 */

/** As it comes: every commit is on disk before it is answered. */
const DURABLE = { fsync: 'on', full_page_writes: 'on' };

const LINK = { ...LINK_DEFAULTS, label: 'bench', expiresAt: null };

/**
 * A Redis that syncs its log at every write and a Postgres that syncs at every commit, as in
 * production.
 */
export async function startServers() {
  await endLeftoverServers();
  const folder = mkdtempSync(join(tmpdir(), 'leadgate-bench-'));
  (await processLedger()).addFolder(folder);
  const log = join(folder, 'services.log');
  const postgres = await startOwnPostgres(DURABLE);
  const redis = await startOwnRedis();
  /** @type {(() => Promise<unknown>)[]} */
  const closes = [];
  return {
    redis,
    postgres,
    log,
    endOfLog: () => endOf(log, 20),
    /** @param {string} name @param {number} people */
    database: async (name, people) => {
      const database = await makeDatabase(postgres.url, name);
      closes.push(() => database.store.close());
      await database.grow(people);
      return database;
    },
    /** Another Redis, to be filled. */
    anotherRedis: async () => {
      const another = await startOwnRedis();
      closes.push(() => another.stop());
      return another;
    },
    stop: async () => {
      for (const close of closes.reverse()) await close();
      await Promise.all([redis.stop(), postgres.stop()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** @param {string} serverUrl @param {string} name @returns {Promise<Database>} */
async function makeDatabase(serverUrl, name) {
  await query(serverUrl, `CREATE DATABASE ${name}`);
  const url = Object.assign(new URL(serverUrl), { pathname: `/${name}` }).href;
  await migrate(url, { directory: here('../prisma/migrations') });
  const store = openStore({ url, poolSize: 2 });
  const made = await createWorkspace(store, { name: 'bench', country: 'BR', dummyPhones: [] });
  if (made.kind !== 'created') throw new Error(made.kind);
  const workspaceId = made.workspace.id;
  for (const field of ['plano', 'horario'])
    await createField(store, workspaceId, { name: field, label: field, type: 'text', options: [] });
  const linked = await createLink(store, workspaceId, LINK);
  if (linked.kind !== 'created') throw new Error(linked.kind);
  const linkId = linked.link.id;
  const code = linked.link.codes[0]?.code ?? '';

  const model = modelSubmission({ workspaceId, linkId });
  await applyGroup(store, [{ submission: model, replay: false }]);
  const database = {
    ...{ url, store, workspaceId, linkId, code, people: 0 },
    grow: async (/** @type {number} */ people) => {
      if (people > database.people) {
        await seedPeople(url, model, { from: database.people, to: people });
        database.people = people;
      }
      // What autovacuum would have done by the time it matters.
      await query(url, 'VACUUM ANALYZE');
      await query(url, 'CHECKPOINT');
    },
  };
  return database;
}

/** @param {string} url @param {string} sql */
export const query = (url, sql) => withPostgres(url, (client) => client.query(sql));

/**
 * Empties a Redis and fills it again from a database: links, marker, identities.
 * @param {string} redisUrl
 * @param {Database} database
 */
export function refillRedis(redisUrl, { store, workspaceId, linkId }) {
  return withRedis(redisUrl, async (redis) => {
    await redis.flushdb();
    await refillAll(redis, refillSource(store));
    await openWorkspace(redis, workspaceId);
    // Tells the receivers that are up.
    await putLinks(redis, await linkEntries(store, linkId));
  });
}

/**
 * Bytes that Redis says it uses.
 * @param {string} redisUrl
 */
export async function usedMemory(redisUrl) {
  const info = await withRedis(redisUrl, (redis) => redis.info('memory'));
  return Number(/used_memory:(\d+)/.exec(info)?.[1]);
}

/**
 * The URL of another logical database of a Redis.
 * @param {string} url
 * @param {number} index
 */
export function logical(url, index) {
  return Object.assign(new URL(url), { pathname: `/${index.toString()}` }).href;
}
