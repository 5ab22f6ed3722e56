import { randomUUID } from 'node:crypto';
import { fastify } from 'fastify';
import { readLead } from '@leadgate/leads';

/** @typedef {import('@leadgate/contract').Lead} Lead */

/**
 * A lead as every service to compare with reads it: by Leadgate's own rules.
 * @typedef {object} ReadLead
 * @property {Lead} lead
 * @property {string[]} identities
 * @property {string} body
 */

const RULES = {
  linkId: '',
  mode: /** @type {const} */ ('strict'),
  country: 'BR',
  dummyPhones: [],
  requireIdentity: false,
};

const RECEIPT = {
  202: { type: 'object', properties: { leadId: { type: 'string' } }, required: ['leadId'] },
};

/** @template T @returns {T} what the process was started with */
export function readSettings() {
  return JSON.parse(process.argv[2] ?? '{}');
}

/**
 * A bare Fastify: parses and reads the lead, hands it over, answers 202 with the id.
 * @param {number} port
 * @param {(lead: ReadLead, code: string) => Promise<string> | string} take returns the lead's id
 */
export async function serve(port, take) {
  const app = fastify({ bodyLimit: 64 * 1024 });
  app.get('/ready', () => ({ status: 'ready' }));
  app.post('/ingest/:code', { schema: { response: RECEIPT } }, async (request, reply) => {
    const reading = readLead(request.body, RULES, { lenient: false, now: Date.now() });
    if (reading.kind === 'refused') throw new Error('the bodies of this benchmark are good ones');
    const { lead, identities } = reading;
    const { code } = /** @type {{ code: string }} */ (request.params);
    const body = JSON.stringify(request.body);
    reply.code(202);
    return { leadId: await take({ lead, identities, body }, code) };
  });
  await app.listen({ host: '127.0.0.1', port });
  process.once('SIGTERM', () => process.exit(0));
}

/** A port that says no more than that the process is up. @param {number} port */
export async function serveReadiness(port) {
  await serve(port, () => randomUUID());
}
