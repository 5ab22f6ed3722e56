import { randomUUID } from 'node:crypto';
import { readLead } from '@leadgate/leads';
import { withPostgres } from '../scripts/servers/session.js';
import { bodyOf, emailOf, phoneOf } from './people.js';

/** @typedef {import('@leadgate/contract').Submission} Submission */

/** The person that all seeded ones are copies of: not one of them. */
const MODEL = 99_999_999;

/** Rows a statement: each is a transaction that Postgres can hold in memory. */
const CHUNK = 100_000;

/**
 * A submission as the receiver would make it.
 * @param {number} person
 * @param {{ workspaceId: string, linkId: string }} to
 * @returns {Submission}
 */
export function submissionOf(person, { workspaceId, linkId }) {
  const body = bodyOf(person);
  const reading = readLead(
    JSON.parse(body),
    { linkId, mode: 'strict', country: 'BR', dummyPhones: [], requireIdentity: false },
    { lenient: false, now: Date.now() },
  );
  if (reading.kind !== 'read') throw new Error(`person ${person.toString()} is refused`);
  const leadId = randomUUID();
  const order = Date.now() * 1_000;
  return {
    id: '01900000-0000-7000-8000-000000000000',
    ...{ workspaceId, linkId, leadId, order, stamp: order, source: 'post' },
    identities: reading.identities.map((key) => ({ key, owner: leadId })),
    ...{ lead: reading.lead, notes: reading.notes, body, bodyType: 'json' },
    page: 'https://landing.example.com/curso',
    userAgent: 'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko)',
    address: '203.0.113.7',
  };
}

/** @param {{ workspaceId: string, linkId: string }} to */
export const modelSubmission = (to) => submissionOf(MODEL, to);

/**
 * Adds people by copying the rows of the model, that were made the usual way: a lead with its history,
 * a submission and two identities each. Ids of leads are spread as random ones are.
 * @param {string} url
 * @param {Submission} model
 * @param {{ from: number, to: number }} range
 */
export function seedPeople(url, model, { from, to }) {
  return withPostgres(url, async (client) => {
    for (let first = from; first < to; first += CHUNK) {
      const last = Math.min(first + CHUNK, to) - 1;
      for (const statement of STATEMENTS)
        await client.query(statement, [model.leadId, first, last]);
    }
  });
}

/** @param {(person: number) => string} text */
const inSql = (text) => `'${text(MODEL).replace(MODEL.toString(), "' || n || '")}'`;
const phoneInSql = `'${phoneOf(0).slice(0, -8)}' || lpad(n::text, 8, '0')`;
const people = 'generate_series($2::int, $3::int) AS n';
const leadId = "md5('lead ' || n)::uuid";

const STATEMENTS = [
  `INSERT INTO lead SELECT copy.* FROM lead AS model, ${people},
     LATERAL jsonb_populate_record(model, jsonb_build_object(
       'id', ${leadId}, 'email', ${inSql(emailOf)}, 'telephone', ltrim(${phoneInSql}, '+'))) AS copy
   WHERE model.id = $1::uuid`,
  `INSERT INTO submission SELECT copy.* FROM submission AS model, ${people},
     LATERAL jsonb_populate_record(model, jsonb_build_object(
       'id', '01900000-0000-7000-8000-' || lpad(to_hex(n + 1), 12, '0'), 'lead_id', ${leadId},
       'order', model."order" + n, 'stamp', model.stamp + n)) AS copy
   WHERE model.lead_id = $1::uuid AND model.id = '01900000-0000-7000-8000-000000000000'`,
  `INSERT INTO identity (workspace_id, key, lead_id)
   SELECT model.workspace_id, contact.key, ${leadId} FROM lead AS model, ${people},
     LATERAL (VALUES ('email:' || ${inSql(emailOf)}), ('phone:' || ${phoneInSql})) AS contact (key)
   WHERE model.id = $1::uuid`,
];
