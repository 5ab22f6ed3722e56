import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { applyGroup } from '@leadgate/store';
import { spread } from '../figures.js';
import { people } from '../people.js';
import { submissionOf } from '../seed.js';

/** @typedef {import('../servers.js').Database} Database */

/** As a worker has them under load. */
const GROUP = 200;
const GROUPS = 25;
const TURNS = 200;
/** The first turns are slower: plans are made, and pages read. */
const WARM = 20;

/**
 * CPU of Postgres a lead, in microseconds, for what is written of a lead for endpoints and for the feed of changes while
 * there is no endpoint: the statement of a group as it is and without those parts, by turns, over the same leads. The
 * median of the differences.
 * @param {Database} database
 */
export async function measureOutboxOfNone(database) {
  const statements = await statementsOf(database);
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
  // Nanoseconds on a core, as the kernel's scheduler counts them.
  const schedule = `/proc/${String(rows[0]?.pid)}/schedstat`;
  const micros = () => Number(readFileSync(schedule, 'utf8').split(' ')[0]) / 1_000;
  /** @param {string} name @param {string} text @param {unknown[]} values */
  const cost = async (name, text, values) => {
    const before = micros();
    await client.query('BEGIN');
    await client.query({ name, text, values });
    await client.query('COMMIT');
    return (micros() - before) / GROUP;
  };
  /** @type {number[]} */
  const more = [];
  for (let turn = 0; turn < TURNS; turn++) {
    const { text, values } = statements[turn % GROUPS] ?? { text: '', values: [] };
    const first = turn % 2 === 0 ? await cost('without', withoutOutbox(text), values) : null;
    const full = await cost('full', text, values);
    const without = first ?? (await cost('without', withoutOutbox(text), values));
    if (turn >= WARM) more.push(full - without);
  }
  await client.end();
  return spread(more);
}

/**
 * The statement that writes the leads of a group, of so many groups of people who are known.
 * @param {Database} database
 */
async function statementsOf(database) {
  /** @type {{ text: string, values: unknown[] }[]} */
  const seen = [];
  const { query } = pg.Client.prototype;
  /** @param {unknown[]} args */
  pg.Client.prototype.query = function (...args) {
    const [statement] = /** @type {[{ text: string, values: unknown[] }]} */ (args);
    if (/^\s*WITH changed AS/.test(statement.text)) seen.push(statement);
    return Reflect.apply(query, this, args);
  };
  try {
    const next = people(database.people);
    /** @type {number[]} */
    const known = [];
    while (known.length < GROUP * GROUPS) {
      const person = next();
      if (person < database.people) known.push(person);
    }
    for (let n = 0; n < GROUPS; n++) {
      const one = (/** @type {number} */ person) => {
        const made = submissionOf(person, database);
        return {
          submission: { ...made, id: randomUUID(), order: made.order + person },
          replay: false,
        };
      };
      await applyGroup(database.store, known.splice(0, GROUP).map(one));
    }
  } finally {
    pg.Client.prototype.query = query;
  }
  if (seen.length !== GROUPS) throw new Error(`${seen.length.toString()} groups were written`);
  return seen;
}

/** @param {string} full */
function withoutOutbox(full) {
  const from = full.indexOf('noted AS (');
  const to = full.indexOf('counted AS (');
  const end = full.lastIndexOf('SELECT count(*)');
  if (from === -1 || to < from || end < to) throw new Error('the statement of a group has changed');
  const kept = full.slice(0, from) + full.slice(to);
  // Postgres wants to know the type of each parameter.
  const others = [...full.matchAll(/\$\d+/g)].map(String).filter((one) => !kept.includes(one));
  return `${kept} WHERE num_nonnulls(${others.map((one) => `${one}::text`).join(', ')}) >= 0`;
}
