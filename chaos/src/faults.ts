import { execFileSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import type { OwnServer } from '../../scripts/servers/own-server.js';
import { send } from '../../scripts/servers/process.js';
import { withPostgres, withRedis } from '../../scripts/servers/session.js';
import type { Network } from '../../scripts/servers/silent-proxy.js';
import { startAgain, type System } from './system.ts';
import type { Member } from './member.ts';
import type { Fault } from './plan.ts';

/** What a stop by SIGTERM came to: it should end with 0, in a bounded time. */
export interface Stop {
  name: string;
  code: number | null;
  /** What ended it if it was told to stop before its first line ran: it had begun nothing. */
  signal: NodeJS.Signals | null;
  ms: number;
}

/** When a fault was there, in milliseconds since 1970. */
export interface Span {
  what: string;
  from: number;
  to: number;
}

export interface Inflicted {
  stops: Stop[];
  spans: Span[];
}

/**
 * Inflicts the faults as planned, until the last one is over. Faults of one process or server come
 * one after the other, those of different ones together.
 */
export async function inflict(
  plan: readonly Fault[],
  system: System,
  onFault: (fault: Fault) => void,
): Promise<Inflicted> {
  const stops: Stop[] = [];
  const spans: Span[] = [];
  const busy = new Map<string, Promise<void>>();
  const start = Date.now();
  for (const fault of plan) {
    await delay(Math.max(0, start + fault.atMs - Date.now()));
    const targets = targetsOf(fault, system);
    const free = Promise.all(targets.map((target) => busy.get(target) ?? Promise.resolve()));
    const over = free.then(async () => {
      onFault(fault);
      const from = Date.now();
      const act: Inflict = FAULTS[fault.kind];
      await act(system, fault, stops);
      // For a later restore; one of a Cluster that is not whole yet is left out.
      if (targets.includes('redis')) await system.older.backUp().catch(() => undefined);
      spans.push({ what: nameOf(fault, targets), from, to: Date.now() });
    });
    for (const target of targets) busy.set(target, over);
  }
  await Promise.all(busy.values());
  return { stops, spans };
}

/** `kill receiver 2`, `roll workers`. */
const nameOf = ({ kind }: Fault, targets: string[]): string =>
  targets.length > 1 ? kind : `${kind.split(' ')[0]} ${targets[0]}`;

/** The names of what a fault has to itself. */
function targetsOf({ kind, nth }: Fault, system: System): string[] {
  const what = kind.split(' ').at(-1);
  switch (what) {
    case 'receivers':
    case 'workers':
      return system[what].map(({ name }) => name);
    case 'receiver':
    case 'worker':
    case 'deliverer':
    case 'endpoint':
      return [pickOf<{ name: string }>(system[`${what}s`], nth).name];
    default:
      return [what ?? ''];
  }
}

function pickOf<One>(ones: readonly One[], nth: number): One {
  const one = ones[nth % ones.length];
  if (one === undefined) throw new Error('there is none');
  return one;
}

type Inflict = (system: System, fault: Fault, stops: Stop[]) => Promise<void>;

function toOne(
  members: 'receivers' | 'workers' | 'deliverers',
  act: (member: Member, forMs: number, stops: Stop[]) => Promise<void>,
): Inflict {
  return (system, { nth, forMs }, stops) => act(pickOf(system[members], nth), forMs, stops);
}

/** What is done to a process or a server, and to which. */
const FAULTS = {
  'kill receiver': toOne('receivers', kill),
  'stop receiver': toOne('receivers', stop),
  'freeze receiver': toOne('receivers', freeze),
  'roll receivers': ({ receivers }, { forMs }, stops) => roll(receivers, forMs, stops),

  'kill worker': toOne('workers', kill),
  'stop worker': toOne('workers', stop),
  'freeze worker': toOne('workers', freeze),
  'roll workers': ({ workers }, { forMs }, stops) => roll(workers, forMs, stops),

  'kill deliverer': toOne('deliverers', kill),
  'stop deliverer': toOne('deliverers', stop),
  'freeze deliverer': toOne('deliverers', freeze),
  'break endpoint': ({ endpoints }, { nth, forMs }) =>
    pickOf(endpoints, nth).breakFor(Math.floor(nth / endpoints.length), forMs),

  'kill redis': ({ redis }, { nth, forMs }) => outage(pickOf(redis.nodes, nth), 'SIGKILL', forMs),
  'stop redis': ({ redis }, { nth, forMs }) => outage(pickOf(redis.nodes, nth), 'SIGTERM', forMs),
  'freeze redis': async ({ redis }, { nth, forMs }) => {
    const node = pickOf(redis.nodes, nth);
    await node.kill('SIGSTOP');
    await delay(forMs);
    await node.kill('SIGCONT');
  },
  'silence redis': ({ redis: { networks } }, { nth, forMs }) => silence(networks(nth), forMs),
  'fill redis': async ({ redis: { nodes } }, { forMs }) => {
    await limitMemory(nodes, '1');
    await delay(forMs);
    await limitMemory(nodes, '0');
  },

  'restore redis': ({ older }, { nth, forMs }) => older.restore(nth, forMs),
  'fail over redis': async ({ redis }, { nth, forMs }) => {
    const [, replica] = pickOf(await redis.shards(), nth);
    if (replica === undefined) return;
    // Refused if it has not caught up yet.
    await withRedis(replica.url, (admin) => admin.cluster('FAILOVER').catch(() => null));
    await delay(forMs);
  },

  'kill postgres': ({ postgres }, { forMs }) => outage(postgres, 'SIGKILL', forMs),
  // Its fast shutdown: what runs is rolled back.
  'stop postgres': ({ postgres }, { forMs }) => outage(postgres, 'SIGINT', forMs),
  'freeze postgres': async ({ postgres: { pid } }, { forMs }) => {
    signalAll(pid, 'SIGSTOP');
    await delay(forMs);
    signalAll(pid, 'SIGCONT');
  },
  'silence postgres': ({ networkOfPostgres }, { forMs }) => silence([networkOfPostgres], forMs),
  'crowd postgres': async ({ postgres: { url } }, { forMs }) => {
    const crowd: pg.Client[] = [];
    const until = Date.now() + forMs;
    await asAdmin(url, async (admin) => {
      while (Date.now() < until) {
        await admin.query(CUT);
        while (await join(crowd, url));
        await delay(50);
      }
    });
    await Promise.all(crowd.map((client) => client.end().catch(() => undefined)));
  },
  'cut postgres': async ({ postgres: { url } }, { forMs }) => {
    const until = Date.now() + forMs;
    await asAdmin(url, async (admin) => {
      while (Date.now() < until) {
        await admin.query(CUT);
        await delay(forMs / 10);
      }
    });
  },
  'lock postgres': ({ postgres: { url } }, { forMs }) =>
    asAdmin(url, async (admin) => {
      await admin.query('BEGIN');
      await admin.query('LOCK TABLE lead IN EXCLUSIVE MODE');
      await delay(forMs);
      await admin.query('ROLLBACK');
    }),
  'read-only postgres': ({ postgres: { url } }, { forMs }) =>
    asAdmin(url, async (admin) => {
      await admin.query('ALTER SYSTEM SET default_transaction_read_only = on');
      await admin.query('SELECT pg_reload_conf()');
      await delay(forMs);
      await admin.query('ALTER SYSTEM RESET default_transaction_read_only');
      await admin.query('SELECT pg_reload_conf()');
    }),
} satisfies Record<string, Inflict>;

export type FaultKind = keyof typeof FAULTS;
export const FAULT_KINDS = Object.keys(FAULTS) as readonly FaultKind[];

const CUT = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'leadgate'`;

async function kill(member: Member, forMs: number): Promise<void> {
  await member.end('SIGKILL');
  await delay(forMs);
  await member.begin();
}

async function stop(member: Member, forMs: number, stops: Stop[]): Promise<void> {
  const start = Date.now();
  stops.push({ ...(await member.end('SIGTERM')), ms: Date.now() - start });
  await delay(forMs);
  await member.begin();
}

/** How long the next one waits for the one before to be ready: whoever deploys gives up some time. */
const READY_WITHIN_MS = 10_000;

/** Stops and starts one after the other, as a deployment does, spread over the time. */
async function roll(members: Member[], forMs: number, stops: Stop[]): Promise<void> {
  for (const [n, member] of members.entries()) {
    if (n > 0) await delay(forMs / (members.length - 1));
    await stop(member, 0, stops);
    await member.ready(READY_WITHIN_MS);
  }
}

async function freeze(member: Member, forMs: number): Promise<void> {
  member.signal('SIGSTOP');
  await delay(forMs);
  member.signal('SIGCONT');
}

/** No packet comes through, either way, and what was connected then never hears again. */
async function silence(networks: readonly Network[], forMs: number): Promise<void> {
  for (const network of networks) network.silence();
  await delay(forMs);
  for (const network of networks) network.admit();
}

async function limitMemory(nodes: readonly OwnServer[], maxmemory: string): Promise<void> {
  for (const { url } of nodes)
    await withRedis(url, (redis) => redis.config('SET', 'maxmemory', maxmemory));
}

async function outage(server: OwnServer, signal: NodeJS.Signals, forMs: number): Promise<void> {
  await server.kill(signal);
  await delay(forMs);
  await startAgain(server);
}

async function join(crowd: pg.Client[], url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, application_name: 'crowd' });
  client.on('error', () => undefined);
  try {
    await client.connect();
    crowd.push(client);
    return true;
  } catch {
    return false;
  }
}

/** In a session that may write while others may not. */
const asAdmin = (url: string, use: (admin: pg.Client) => Promise<void>): Promise<void> =>
  withPostgres(url, use, {
    application_name: 'chaos',
    options: '-c default_transaction_read_only=off',
  });

/** To a process and its children: those of Postgres are one server. */
export function signalAll(pid: number, signal: NodeJS.Signals): void {
  for (const one of [pid, ...childrenOf(pid)]) send(one, signal);
}

function childrenOf(parent: number): number[] {
  return execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([pid, ppid]) => (ppid === parent && pid !== undefined ? [pid] : []));
}
