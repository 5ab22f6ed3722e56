import { randomUUID } from 'node:crypto';
import { packUuid, unpackUuid, type CaptureLink } from '@leadgate/contract';
import { connectRedis, type RedisConnection } from '@leadgate/boot';
import { sampleLink, testRedis } from '@leadgate/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { identitiesKey, identityRef, LINKS, REFILL_REQUESTS, REVISION, stateKey } from '../keys.ts';
import { followLinks, putLinks } from '../links/link-changes.ts';
import {
  moveIdentities,
  directoryRevision,
  refillAll,
  refillDirectory,
  type RefillSource,
  refillWorkspace,
} from './refill.ts';
import {
  openWorkspace,
  closedWorkspaces,
  confirmWorkspaces,
  requestedWorkspaces,
} from '../reservation/marker.ts';
import { createReserver, type Reservation } from '../reservation/reserver.ts';

let redis: RedisConnection;
let flush: () => Promise<void>;
let keys: (pattern: string) => Promise<string[]>;
beforeAll(async () => {
  const database = await testRedis();
  redis = connectRedis(database.url, { role: 'worker' });
  ({ flush, keys } = database);
});
beforeEach(() => flush());
afterAll(() => {
  redis.disconnect();
});

type Identity = { key: string; leadId: string };

/** A Postgres: what it holds may change between pages, and `beforePage` may do something there. */
class FakeSource implements RefillSource {
  readonly links_: { code: string; link: CaptureLink }[] = [];
  readonly leads = new Map<string, Identity[]>();
  highest = 0;
  pageSize = 1_000;
  beforePage: (reading: number, page: number) => Promise<void> | void = () => undefined;
  #readings = 0;

  directoryRevision() {
    return Promise.resolve(7);
  }
  workspaceIds() {
    return Promise.resolve([...this.leads.keys()]);
  }
  highestOrders(ids: readonly string[]) {
    return Promise.resolve(new Map(ids.map((id) => [id, this.highest])));
  }
  async *links() {
    await this.beforePage(0, 0);
    yield this.links_;
  }
  async *identities(workspaceId: string) {
    const reading = ++this.#readings;
    const all = this.leads.get(workspaceId) ?? [];
    for (let i = 0, page = 0; i < all.length; i += this.pageSize, page++) {
      const identities = structuredClone(all.slice(i, i + this.pageSize));
      await this.beforePage(reading, page);
      yield identities;
    }
  }
}

function workspaceOf(keysOfLeads: string[][]) {
  const source = new FakeSource();
  const workspaceId = randomUUID();
  const leads = keysOfLeads.map(() => randomUUID());
  source.leads.set(
    workspaceId,
    keysOfLeads.flatMap((keys, i) => keys.map((key) => ({ key, leadId: leads[i] ?? '' }))),
  );
  return { source, workspaceId, leads };
}

function reserve(workspaceId: string, identityKeys: string[], offeredLeadId = randomUUID()) {
  return createReserver(redis).reserve({
    submissionId: randomUUID(),
    workspaceId,
    linkId: 'link',
    offeredLeadId,
    identityKeys,
    limits: [],
  });
}

const leadOf = (reservation: Reservation) =>
  reservation.kind === 'reserved' ? reservation.leadId : reservation.kind;
const times = <T>(n: number, make: (i: number) => T): T[] =>
  Array.from({ length: n }, (_, i) => make(i));

async function ownerOf(workspaceId: string, key: string): Promise<string | null> {
  const { bucket, field } = identityRef(key);
  const owner = await redis.hget(identitiesKey(workspaceId, bucket), field);
  return owner === null ? null : unpackUuid(owner);
}

async function setOwner(workspaceId: string, key: string, leadId: string): Promise<void> {
  const { bucket, field } = identityRef(key);
  await redis.hset(identitiesKey(workspaceId, bucket), field, packUuid(leadId));
}

describe('a workspace', () => {
  test('after a refill everyone is known again, and orders are above what Postgres holds', async () => {
    const keys = times(1_201, (i) => [`email:${i}`, `phone:${i}`]);
    const { source, workspaceId, leads } = workspaceOf(keys);
    source.highest = Date.now() * 1_000 + 3_600_000_000;
    expect(await refillWorkspace(redis, source, workspaceId)).toBe(2_402);
    for (const i of [0, 600, 1_200])
      expect(leadOf(await reserve(workspaceId, [`email:${i}`]))).toBe(leads[i]);
    const next = await reserve(workspaceId, []);
    expect(next.kind === 'reserved' && next.order).toBe(source.highest + 4);
  });

  test('an empty workspace is opened too', async () => {
    const { source, workspaceId } = workspaceOf([]);
    expect(await refillWorkspace(redis, source, workspaceId)).toBe(0);
    expect((await reserve(workspaceId, ['email:a'])).kind).toBe('reserved');
  });

  test('nothing is claimed while a refill runs, and nobody is new who was not', async () => {
    const { source, workspaceId, leads } = workspaceOf([['email:a'], ['email:b'], ['email:c']]);
    source.pageSize = 1;
    const during: Reservation[] = [];
    source.beforePage = async () => {
      during.push(await reserve(workspaceId, ['email:c']));
    };
    await refillWorkspace(redis, source, workspaceId);
    expect(during.map(({ kind }) => kind)).toEqual(['behind', 'behind', 'behind']);
    expect(leadOf(await reserve(workspaceId, ['email:c']))).toBe(leads[2]);
  });

  test('a refill that dies half way leaves the workspace closed, and can be done again', async () => {
    const { source, workspaceId, leads } = workspaceOf([['email:a'], ['email:b']]);
    source.pageSize = 1;
    source.beforePage = (reading, page) => {
      if (reading === 1 && page === 1) throw new Error('Postgres is gone');
    };
    await expect(refillWorkspace(redis, source, workspaceId)).rejects.toThrow('Postgres is gone');
    expect((await reserve(workspaceId, ['email:a'])).kind).toBe('behind');
    await refillWorkspace(redis, source, workspaceId);
    expect(leadOf(await reserve(workspaceId, ['email:b']))).toBe(leads[1]);
  });

  test('a Redis that is emptied or set back in the middle of a refill is not called complete', async () => {
    for (const lose of ['everything', 'the last step'] as const) {
      const { source, workspaceId } = workspaceOf([['email:a'], ['email:b'], ['email:c']]);
      source.pageSize = 1;
      source.beforePage = async (reading, page) => {
        if (reading !== 1 || page !== 2) return;
        const [run] = await keys(`leadgate:{${workspaceId}}:refill:*`);
        if (lose === 'everything') await flush();
        else await setBack(run ?? '');
      };
      await expect(refillWorkspace(redis, source, workspaceId)).rejects.toThrow('Redis lost');
      expect((await reserve(workspaceId, [])).kind).toBe('behind');
    }
  });

  test('two refills at once come to the same', async () => {
    const { source, workspaceId, leads } = workspaceOf(times(50, (i) => [`email:${i}`]));
    source.pageSize = 10;
    await setOwner(workspaceId, 'email:3', randomUUID());
    await Promise.all([
      refillWorkspace(redis, source, workspaceId),
      refillWorkspace(redis, source, workspaceId),
    ]);
    const owners = await Promise.all(times(50, (i) => ownerOf(workspaceId, `email:${i}`)));
    expect(owners).toEqual(leads);
    expect(await keys(`leadgate:{${workspaceId}}:refill:*`)).toEqual([]);
  });

  test('the clock starts above what a receiver saw, be Postgres lower', async () => {
    const { source, workspaceId } = workspaceOf([]);
    await openWorkspace(redis, workspaceId, Date.now() * 1_000 + 3_600_000_000);
    const reserver = createReserver(redis);
    const request = () => ({
      submissionId: randomUUID(),
      workspaceId,
      linkId: 'link',
      offeredLeadId: randomUUID(),
      identityKeys: [],
      limits: [],
    });
    const before = await reserver.reserve(request());
    await flush();
    expect((await reserver.reserve(request())).kind).toBe('behind');
    await refillWorkspace(redis, source, workspaceId);
    const after = await reserver.reserve(request());
    if (before.kind !== 'reserved' || after.kind !== 'reserved') throw new Error('not reserved');
    expect(after.order).toBe(before.order + 1);
  });

  test('Postgres wins over an older owner in Redis', async () => {
    const { source, workspaceId, leads } = workspaceOf([['email:a', 'email:b']]);
    await setOwner(workspaceId, 'email:b', randomUUID());
    await refillWorkspace(redis, source, workspaceId);
    expect(await ownerOf(workspaceId, 'email:b')).toBe(leads[0]);
  });

  test('a move that Postgres made after it was read is not undone', async () => {
    const { source, workspaceId } = workspaceOf([['email:a'], ['email:b']]);
    const identities = source.leads.get(workspaceId)!;
    const [a, b] = [identities[0]!.leadId, identities[1]!.leadId];
    source.pageSize = 1;
    source.beforePage = async (reading, page) => {
      // The page with email:a was read and waits to be written.
      if (reading !== 1 || page !== 0) return;
      identities[0]!.leadId = b;
      await moveIdentities(redis, workspaceId, [{ key: 'email:a', from: a, to: b }]);
    };
    await refillWorkspace(redis, source, workspaceId);
    expect(await ownerOf(workspaceId, 'email:a')).toBe(b);
  });

  test('a rebuild beside live traffic keeps the claims whose jobs still wait', async () => {
    const { source, workspaceId } = workspaceOf([['email:a'], ['email:b']]);
    await openWorkspace(redis, workspaceId);
    source.pageSize = 1;
    const live: Reservation[] = [];
    source.beforePage = async () => {
      live.push(await reserve(workspaceId, ['email:new']));
    };
    await refillWorkspace(redis, source, workspaceId);
    expect(live.map(({ kind }) => kind)).toEqual(['reserved', 'reserved']);
    expect(await ownerOf(workspaceId, 'email:new')).toBe(leadOf(live[0]!));
  });

  test('a refill beside claims in an open workspace ends with one owner a key, Postgres’s first', async () => {
    const { source, workspaceId, leads } = workspaceOf(times(100, (i) => [`email:${i}`]));
    source.pageSize = 10;
    await openWorkspace(redis, workspaceId);
    const claims = times(100, (i) => reserve(workspaceId, [`email:${i}`, `phone:${i}`]));
    await Promise.all([...claims, refillWorkspace(redis, source, workspaceId)]);
    const owners = await Promise.all(times(100, (i) => ownerOf(workspaceId, `email:${i}`)));
    expect(owners).toEqual(leads);
  });

  test('how many identities a lead has is known again after a refill', async () => {
    const keys = times(49, (i) => `email:${i}`);
    const { source, workspaceId, leads } = workspaceOf([['phone:x', 'phone:y'], keys, ['phone:z']]);
    source.pageSize = 20;
    await refillWorkspace(redis, source, workspaceId);
    const one = await reserve(workspaceId, ['email:0', 'phone:1', 'phone:2']);
    expect(one.kind === 'reserved' && one.identities.map(({ owner }) => owner)).toEqual([
      leads[1],
      leads[1],
      null,
    ]);
  });
});

describe('what has to be refilled', () => {
  test('a receiver’s request stands until the workspace is open, and no longer', async () => {
    const { source, workspaceId } = workspaceOf([['email:a']]);
    await reserve(workspaceId, []);
    await expect.poll(() => requestedWorkspaces(redis)).toEqual([workspaceId]);
    const confirm = () => confirmWorkspaces(redis, source, [workspaceId]);
    expect(await confirm()).toEqual({ confirmed: 0, incomplete: [workspaceId] });
    expect(await redis.scard(REFILL_REQUESTS)).toBe(1);
    await refillWorkspace(redis, source, workspaceId);
    expect(await requestedWorkspaces(redis)).toEqual([]);
    await redis.sadd(REFILL_REQUESTS, workspaceId);
    expect(await confirm()).toEqual({ confirmed: 0, incomplete: [] });
    expect(await redis.scard(REFILL_REQUESTS)).toBe(0);
  });

  test('workspaces that nobody asked for are found by their missing marker', async () => {
    const { source, workspaceId } = workspaceOf([['email:a']]);
    expect(await closedWorkspaces(redis, [workspaceId])).toEqual([workspaceId]);
    await refillAll(redis, source);
    expect(await closedWorkspaces(redis, [workspaceId])).toEqual([]);
    expect(await directoryRevision(redis)).not.toBeNull();
  });

  test('all of Redis comes back: links, every workspace, and what Postgres counts', async () => {
    const { source, workspaceId } = workspaceOf([['email:a', 'phone:a']]);
    source.leads.set(randomUUID(), []);
    source.links_.push({ code: 'code', link: aLink(workspaceId) });
    expect(await refillAll(redis, source)).toEqual({ links: 1, workspaces: 2, identities: 2 });
    expect(await directoryRevision(redis)).toBe(7);
    expect(await redis.hexists(stateKey(workspaceId), 'open')).toBe(1);
  });
});

describe('the link directory', () => {
  test('it holds what Postgres has and no more, and says as of when', async () => {
    const source = new FakeSource();
    const link = aLink(randomUUID());
    source.links_.push(...times(1_100, (i) => ({ code: `code${i}`, link })));
    await putLinks(redis, [{ code: 'gone', link }]);
    expect(await refillDirectory(redis, source, 12)).toBe(1_100);
    expect(await redis.hlen(LINKS)).toBe(1_101);
    expect(await redis.hget(LINKS, 'code1099')).toBe(JSON.stringify(link));
    expect(await directoryRevision(redis)).toBe(12);
  });

  test('a link made while the directory is refilled is not taken for one that is gone', async () => {
    const source = new FakeSource();
    source.beforePage = () => putLinks(redis, [{ code: 'new', link: aLink(randomUUID()) }]);
    await refillDirectory(redis, source, 1);
    expect(await redis.hexists(LINKS, 'new')).toBe(1);
  });

  test('a link that is disabled while the directory is refilled stays disabled', async () => {
    const source = new FakeSource();
    const link = { ...aLink(randomUUID()), revision: 7 };
    source.links_.push({ code: 'code', link });
    await refillDirectory(redis, source, 7);
    // Read before it was disabled, and written after.
    source.beforePage = () =>
      putLinks(redis, [{ code: 'code', link: { ...link, state: 'disabled', revision: 8 } }]);
    await refillDirectory(redis, source, 7);
    expect(await redis.hget(LINKS, 'code')).toContain('"state":"disabled"');
    // And what an operator's process read before comes too late.
    await putLinks(redis, [{ code: 'code', link }]);
    expect(await redis.hget(LINKS, 'code')).toContain('"state":"disabled"');
  });

  test('of a Postgres that was put back to an older dump Redis keeps nothing newer', async () => {
    const source = new FakeSource();
    const link = { ...aLink(randomUUID()), revision: 9 };
    await putLinks(redis, [
      { code: 'changed', link: { ...link, state: 'disabled' } },
      { code: 'made', link },
    ]);
    source.links_.push({ code: 'changed', link: { ...link, revision: 5 } });
    await refillDirectory(redis, source, 5);
    expect(await redis.hget(LINKS, 'changed')).toContain('"state":"open"');
    expect(await redis.hexists(LINKS, 'made')).toBe(0);
  });

  test('changes are followed from where it is, and from nowhere else', async () => {
    const link = { ...aLink(randomUUID()), revision: 8 };
    const source = new FakeSource();
    source.links_.push({ code: 'gone', link: { ...link, revision: 7 } });
    await refillDirectory(redis, source, 7);
    const entries = [
      { code: 'new', link },
      { code: 'gone', link: null },
    ];
    expect(await followLinks(redis, 6, { revision: 8, entries })).toBe(false);
    expect(await redis.hexists(LINKS, 'new')).toBe(0);
    expect(await followLinks(redis, 7, { revision: 8, entries })).toBe(true);
    expect(await redis.hkeys(LINKS)).toEqual(expect.arrayContaining(['new', REVISION]));
    expect(await redis.hlen(LINKS)).toBe(2);
    expect(await directoryRevision(redis)).toBe(8);
  });

  test('a Redis that is emptied meanwhile is not called complete', async () => {
    const source = new FakeSource();
    source.links_.push({ code: 'code', link: aLink(randomUUID()) });
    source.beforePage = flush;
    await expect(refillDirectory(redis, source, 1)).rejects.toThrow('Redis lost');
    expect(await redis.hget(LINKS, REVISION)).toBeNull();
  });
});

function aLink(workspaceId: string): CaptureLink {
  return sampleLink({ linkId: randomUUID(), workspaceId });
}

describe('a workspace that was opened on another Redis', () => {
  /** As after a restart: what a dump brings back names the Redis that it was made on. */
  async function opened() {
    const made = workspaceOf([['email:a']]);
    await refillAll(redis, made.source);
    const clock = Number(await redis.hget(stateKey(made.workspaceId), 'clock'));
    await redis.hset(stateKey(made.workspaceId), 'open', 'of-another-redis hashtable');
    return { ...made, clock };
  }

  test('is claimed on once its clock was compared with Postgres, and nothing is refilled', async () => {
    const { source, workspaceId, leads, clock } = await opened();
    source.highest = clock;
    expect(await reserve(workspaceId, ['email:b'])).toEqual({ kind: 'behind' });
    expect(await confirmWorkspaces(redis, source, [workspaceId])).toEqual({
      confirmed: 1,
      incomplete: [],
    });
    expect(leadOf(await reserve(workspaceId, ['email:a']))).toBe(leads[0]);
  });

  test.each(['Postgres', 'a receiver'])('is refilled when %s knows a higher order', async (who) => {
    const { source, workspaceId, clock } = await opened();
    if (who === 'Postgres') source.highest = clock + 1;
    else await redis.hset(stateKey(workspaceId), 'floor', clock + 1);
    expect(await confirmWorkspaces(redis, source, [workspaceId])).toEqual({
      confirmed: 0,
      incomplete: [workspaceId],
    });
    expect(await redis.hexists(stateKey(workspaceId), 'open')).toBe(0);
    await refillWorkspace(redis, source, workspaceId);
    const next = await reserve(workspaceId, []);
    expect(next.kind === 'reserved' && next.order).toBeGreaterThan(clock + 1);
  });

  test('stays closed when Redis becomes another one again while Postgres is asked', async () => {
    const { source, workspaceId } = await opened();
    const state = stateKey(workspaceId);
    const asking = {
      highestOrders: async (ids: readonly string[]) => {
        // A dump put back just then holds the hash in its short form.
        const dump = await redis.dumpBuffer(state);
        await redis.del(state);
        await redis.restore(state, 0, dump);
        return source.highestOrders(ids);
      },
    };
    await expect(confirmWorkspaces(redis, asking, [workspaceId])).rejects.toThrow('another one');
    expect(await reserve(workspaceId, [])).toEqual({ kind: 'behind' });
  });

  test('a state that a dump put back in place is not believed', async () => {
    const { workspaceId } = workspaceOf([]);
    await openWorkspace(redis, workspaceId);
    const dump = await redis.dumpBuffer(stateKey(workspaceId));
    expect((await reserve(workspaceId, [])).kind).toBe('reserved');
    await redis.del(stateKey(workspaceId));
    await redis.restore(stateKey(workspaceId), 0, dump);
    expect(await reserve(workspaceId, [])).toEqual({ kind: 'behind' });
  });
});

/** One step of a refill, as a dump of a moment ago would. */
async function setBack(run: string): Promise<void> {
  const [server = '', step = ''] = ((await redis.get(run)) ?? '').split(' ');
  await redis.set(run, `${server} ${Number(step) - 1}`);
}
