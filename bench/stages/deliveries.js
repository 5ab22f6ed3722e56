import { setTimeout as delay } from 'node:timers/promises';
import { request } from 'undici';
import { Keyring } from '@leadgate/boot';
import { LEAD_EVENTS } from '@leadgate/contract';
import { newSecret } from '@leadgate/delivery';
import { createEndpoint, removeEndpoint, setEndpointState } from '@leadgate/store';
import { countCpu } from '../cpu.js';
import { percentile, spread, told } from '../figures.js';
import { postLeads } from '../load/load.js';
import { bodyOf, nextFirst } from '../people.js';
import { startLeadgate, startService } from '../processes.js';
import { byTurns, SECRETS, startBoth } from './bench.js';
import { measureOutboxOfNone } from './outbox.js';

/** @typedef {import('./bench.js').Bench} Bench */
/** @typedef {import('../services/endpoint.js').Taken} Taken */
/** @typedef {Awaited<ReturnType<typeof startEndpoints>>} Endpoints */
/** @typedef {Awaited<ReturnType<typeof startBoth>>} Both */

const { SECRETS_KEY } = SECRETS;
/** Sends at once to an endpoint, and of the bare sender: Leadgate's default. */
const CONCURRENCY = 8;
const LOOK_MS = 50;
/** Sends a second that a slow CRM takes. */
const LIMIT = 2;
/** Posts a second while deliveries are timed. */
const RATE = 20;
const ENDPOINTS = 10;

/**
 * What telling endpoints costs and how soon they know, in ratios and counts.
 * @param {Bench} bench
 */
export async function measure(bench) {
  const both = await startBoth(bench);
  const endpoints = await startEndpoints(bench);
  try {
    const outbox = await measureOutbox(bench, both, endpoints);
    const deliverer = await startDeliverer(bench);
    const sends = await measureSends(bench, endpoints, deliverer);
    const limited = await measureLimit(bench, endpoints);
    const coalesced = await measureCoalescing(bench, both, endpoints);
    const idle = await measureIdle(bench, both, endpoints);
    const hanging = await measureHanging(bench, both, endpoints);
    await deliverer.stop();
    return { outbox, sends, limited, coalesced, idle, hanging };
  } finally {
    await endpoints.stop();
    await both.stop();
  }
}

/** @param {Bench} bench */
function startDeliverer({ plan, servers, leadgate }) {
  return startLeadgate('deliverer', {
    log: servers.log,
    profiles: plan.profiles,
    env: {
      ...{ DATABASE_URL: leadgate.database.url, SECRETS_KEY },
      DELIVERY_ALLOW_NETWORKS: '127.0.0.0/8',
    },
  });
}

/** @param {Bench} bench */
async function startEndpoints({ servers, leadgate }) {
  const { store, workspaceId } = leadgate.database;
  const service = await startService('endpoint', servers.log);
  /** @param {string} path */
  const get = async (path) => {
    const response = await request(`${service.url}/${path}`);
    return response.body.text();
  };
  const urlOf = (/** @type {string} */ name) => `${service.url}/to/${name}`;
  return {
    urlOf,
    /**
     * Makes one that wants all events. Returns its id.
     * @param {string} name
     * @param {number | null} [perSecond]
     */
    add: async (name, perSecond = null) => {
      const made = await createEndpoint(
        store,
        workspaceId,
        {
          ...{ name, url: urlOf(name), headers: {}, events: [...LEAD_EVENTS], linkIds: [] },
          ...{ mapping: null, perSecond, concurrency: CONCURRENCY },
        },
        { secret: newSecret(), keyring: new Keyring(SECRETS_KEY) },
      );
      if (made.kind !== 'done') throw new Error(made.kind);
      return made.endpoint.id;
    },
    /** @param {string} id */
    remove: (id) => removeEndpoint(store, id),
    /** @param {string} name */
    hang: (name) => get(`hang/${name}`),
    /** @param {string} name @returns {Promise<Taken>} */
    taken: async (name) => JSON.parse(await get(`taken/${name}`)),
    /** Resolves when no delivery waits for an endpoint. @param {string} endpointId */
    sent: async (endpointId) => {
      const where = { endpointId, dueAt: { not: null } };
      while ((await store.prisma.delivery.count({ where })) > 0) await delay(LOOK_MS);
    },
    /**
     * As if so many leads that are there had changed in one moment.
     * @param {string} endpointId
     * @param {number} leads
     */
    change: (endpointId, leads) => store.prisma.$executeRaw`
      WITH told AS (
        INSERT INTO delivery (endpoint_id, lead_id, workspace_id, event, version, due_at)
        SELECT ${endpointId}::uuid, id, workspace_id, 'lead.updated', version, now()
        FROM lead WHERE workspace_id = ${workspaceId}::uuid ORDER BY id LIMIT ${leads}::int
        ON CONFLICT (endpoint_id, lead_id) DO UPDATE SET due_at = now(), resends = delivery.resends + 1
        RETURNING 1)
      SELECT count(pg_notify('leadgate_deliveries', '')) FROM (SELECT FROM told LIMIT 1) AS one`,
    stop: service.stop,
  };
}

/**
 * CPU a lead, from post to commit, with an endpoint that is told of everything and with none, by turns: nobody
 * sends meanwhile.
 * @param {Bench} bench
 * @param {Both} both
 * @param {Endpoints} endpoints
 */
async function measureOutbox({ plan, leadgate, say }, { url, pids, drained }, endpoints) {
  const cost = async () => {
    const count = countCpu(pids);
    const load = { seconds: plan.seconds, connections: plan.connections, known: plan.known };
    const { load: answers } = await postLeads(url, load, {});
    await drained();
    return count.stop(answers.statuses['202'] ?? 0);
  };
  /** @type {{ none: number, one: number, byProcess: { none: object, one: object } }[]} */
  const rounds = [];
  for (let round = 0; round <= 2 * plan.rounds; round++) {
    const withOne = async () => {
      const id = await endpoints.add('outbox');
      const cpu = await cost();
      await endpoints.remove(id);
      return cpu;
    };
    // Tables grow and caches warm: each of the two is the first as often as the other.
    const isFirst = round % 2 === 0;
    const first = isFirst ? await withOne() : null;
    const none = await cost();
    const one = first ?? (await withOne());
    if (round === 0) continue;
    const byProcess = { none: none.byProcess, one: one.byProcess };
    rounds.push({ none: none.total, one: one.total, byProcess });
  }
  const ratio = spread(rounds.map(({ none, one }) => one / none));
  say(`  CPU a lead with an endpoint ÷ with none: ${told(ratio)} (at most 1.10)`);
  const none = spread(rounds.map((one) => one.none));
  const micros = await measureOutboxOfNone(leadgate.database);
  const ofNone = { micros, share: micros.median / none.median };
  say(
    `  with none, Postgres's CPU a lead for it: ${micros.median.toFixed(1)} of ${none.median.toFixed(0)} µs (at most 1 %: ${(100 * ofNone.share).toFixed(2)} %)`,
  );
  return {
    ratio,
    ofNone,
    cpuMicrosPerLead: { none, one: spread(rounds.map(({ one }) => one)) },
    byProcess: rounds.map(({ byProcess }) => byProcess),
  };
}

/**
 * How many a deliverer sends to one endpoint, beside a loop that has the body already, by turns.
 * @param {Bench} bench
 * @param {Endpoints} endpoints
 * @param {{ pid: number }} deliverer
 */
async function measureSends({ plan, servers, say }, endpoints, deliverer) {
  const { sends } = plan.deliveries;
  const id = await endpoints.add('sends');
  const sendAll = async () => {
    const count = countCpu({ deliverer: deliverer.pid, postgres: servers.postgres.pid });
    const start = performance.now();
    await endpoints.change(id, sends);
    await endpoints.sent(id);
    const perSecond = (sends * 1_000) / (performance.now() - start);
    const { byProcess } = count.stop(sends);
    const { at, last } = await endpoints.taken('sends');
    if (at.length !== sends) throw new Error(`${at.length.toString()} were sent`);
    return {
      perSecond,
      micros: byProcess['deliverer'] ?? 0,
      postgres: byProcess['postgres'],
      last,
    };
  };
  const { last: body } = await sendAll();
  const settings = { url: endpoints.urlOf('bare'), connections: CONCURRENCY, body };
  const bare = await startService('bare-sender', servers.log, settings);
  const sendBare = async () => {
    const count = countCpu({ bare: bare.pid });
    const start = performance.now();
    await request(`${bare.url}/send/${sends.toString()}`, { headersTimeout: 0 });
    const perSecond = (sends * 1_000) / (performance.now() - start);
    const micros = count.stop(sends).byProcess['bare'] ?? 0;
    await endpoints.taken('bare');
    return { perSecond, micros };
  };
  await sendBare();
  const { own, bare: beside } = await byTurns(plan.rounds, { own: sendAll, bare: sendBare });
  await bare.stop();
  await endpoints.remove(id);
  const figures = {
    // A process of Node has one core: what it can send there is told by the CPU that a send takes.
    ofOneCore: spread(own.map(({ micros }, round) => (beside[round]?.micros ?? NaN) / micros)),
    sendsPerSecond: spread(own.map(({ perSecond }) => perSecond)),
    barePerSecond: spread(beside.map(({ perSecond }) => perSecond)),
    delivererMicros: spread(own.map(({ micros }) => micros)),
    postgresMicros: spread(own.map(({ postgres }) => postgres ?? 0)),
    bareMicros: spread(beside.map(({ micros }) => micros)),
  };
  say(`  sends of one core ÷ bare: ${told(figures.ofOneCore)} (at least 0.5)`);
  say(
    `  sends a second: ${told(figures.sendsPerSecond)}, bare ${told(figures.barePerSecond)}; ` +
      `CPU µs a send ${told(figures.delivererMicros)}, bare ${told(figures.bareMicros)}`,
  );
  return figures;
}

/**
 * The most sends in any second, by the endpoint's clock, while thousands wait.
 * @param {Bench} bench
 * @param {Endpoints} endpoints
 */
async function measureLimit({ plan, say }, endpoints) {
  const id = await endpoints.add('limit', LIMIT);
  await endpoints.change(id, plan.deliveries.burst);
  await delay(plan.deliveries.limitSeconds * 1_000);
  const { at } = await endpoints.taken('limit');
  const mostInASecond = Math.max(
    ...at.map((from) => at.filter((one) => one >= from && one < from + 1_000).length),
  );
  await endpoints.remove(id);
  const { limitSeconds: seconds } = plan.deliveries;
  say(
    `  a limit of ${LIMIT.toString()} a second: ${at.length.toString()} sends in ${seconds.toString()} s, at most ${mostInASecond.toString()} in any second`,
  );
  return { waiting: plan.deliveries.burst, sends: at.length, seconds, mostInASecond };
}

/**
 * Thousands of posts of some hundred people while their endpoint is paused: it is sent each of them once, as it
 * stands.
 * @param {Bench} bench
 * @param {Both} both
 * @param {Endpoints} endpoints
 */
async function measureCoalescing({ plan, leadgate, say }, { url, drained }, endpoints) {
  const { store } = leadgate.database;
  const { burst } = plan.deliveries;
  const people = burst / 10;
  const first = nextFirst();
  const id = await endpoints.add('burst');
  await setEndpointState(store, id, 'paused');
  for (let turn = 0; turn < 10; turn++)
    await Promise.all(
      Array.from({ length: people }, (_, person) =>
        post(url, first + person, `turn ${turn.toString()}`),
      ),
    );
  await drained();
  await setEndpointState(store, id, 'active');
  await endpoints.sent(id);
  const { at } = await endpoints.taken('burst');
  await endpoints.remove(id);
  say(`  ${burst.toString()} posts of ${people.toString()} people: ${at.length.toString()} sends`);
  return { posts: burst, people, sends: at.length };
}

/**
 * How soon an endpoint knows when nothing else happens: from the begin of the transaction to its end there.
 * @param {Bench} bench
 * @param {Both} both
 * @param {Endpoints} endpoints
 */
async function measureIdle({ plan, say }, { url }, endpoints) {
  const id = await endpoints.add('idle');
  const first = nextFirst();
  for (let n = 0; n < plan.deliveries.idle; n++) {
    await post(url, first + n, 'idle');
    await delay(250);
  }
  await endpoints.sent(id);
  const { lateMs } = await endpoints.taken('idle');
  await endpoints.remove(id);
  const figures = { p50Ms: percentile(lateMs, 0.5), p99Ms: percentile(lateMs, 0.99) };
  say(
    `  idle, commit to delivery: p50 ${figures.p50Ms.toFixed(1)} ms (less than 100), p99 ${figures.p99Ms.toFixed(1)} ms`,
  );
  return figures;
}

/**
 * How soon nine endpoints know when a tenth hangs, beside when it does not, by turns.
 * @param {Bench} bench
 * @param {Both} both
 * @param {Endpoints} endpoints
 */
async function measureHanging({ plan, say }, { url }, endpoints) {
  const others = Array.from({ length: ENDPOINTS - 1 }, (_, at) => `other-${at.toString()}`);
  const otherIds = await Promise.all(others.map((name) => endpoints.add(name)));
  await endpoints.hang('hanging');
  /** @param {string} tenth */
  const time = async (tenth) => {
    const id = await endpoints.add(tenth);
    const first = nextFirst();
    const posts = [];
    for (let n = 0; n < RATE * plan.seconds; n++) {
      posts.push(post(url, first + n, tenth));
      await delay(1_000 / RATE);
    }
    await Promise.all(posts);
    for (const one of otherIds) await endpoints.sent(one);
    const taken = await Promise.all(others.map((name) => endpoints.taken(name)));
    await endpoints.remove(id);
    const late = taken.flatMap(({ lateMs }) => lateMs);
    return percentile(late, 0.99);
  };
  await time('well');
  const { hanging, well } = await byTurns(plan.rounds, {
    hanging: () => time('hanging'),
    well: () => time('well'),
  });
  for (const id of otherIds) await endpoints.remove(id);
  const figures = {
    p99Ms: { hanging: spread(hanging), well: spread(well) },
    ratio: spread(hanging.map((ms, round) => ms / (well[round] ?? NaN))),
  };
  say(
    `  p99 of nine endpoints while the tenth hangs ÷ while it does not: ${told(figures.ratio)} (at most 1.2); ` +
      `${told(figures.p99Ms.hanging, ' ms')}, ${told(figures.p99Ms.well, ' ms')}`,
  );
  return figures;
}

/**
 * Posts somebody with something that was not known, until it is accepted.
 * @param {string} url
 * @param {number} person
 * @param {string} news
 */
async function post(url, person, news) {
  const body = JSON.stringify({ ...JSON.parse(bodyOf(person)), profession: news });
  for (;;) {
    const response = await request(url, {
      ...{ method: 'POST', body },
      headers: { 'content-type': 'application/json', origin: 'https://landing.example.com' },
    });
    await response.body.text();
    if (response.statusCode === 202) return;
    // A machine that is busy with other work.
    if (response.statusCode !== 503) throw new Error(response.statusCode.toString());
    await delay(LOOK_MS);
  }
}
