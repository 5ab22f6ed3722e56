import { createServer } from 'node:http';
import { readSettings } from './http-service.js';

/**
 * Endpoints that are told of leads: each takes everything at once, or never answers. Counts what each was sent.
 *
 *     POST /to/<name>         what deliverers send
 *     POST /hang/<name>       it answers nothing from now on
 *     GET  /taken/<name>      what it took since that was asked before, as a Taken
 *
 * @typedef {object} Taken
 * @property {number[]} at when each was there in full, milliseconds since 1970
 * @property {number[]} lateMs how long after its lead became what it is
 * @property {string} last the last body
 */

/** @type {{ port: number }} */
const { port } = readSettings();
/** @type {Map<string, Taken>} */
const taken = new Map();
/** @type {Set<string>} */
const hanging = new Set();

/** A body begins with its type and the time. */
const TIMESTAMP = /^.{1,80}?"timestamp":"([^"]+)"/;

/** @returns {Taken} */
const nothing = () => ({ at: [], lateMs: [], last: '' });

createServer((request, response) => {
  const [, what = '', name = ''] = (request.url ?? '').split('/');
  let body = '';
  request.setEncoding('utf8').on('data', (/** @type {string} */ part) => {
    body += part;
  });
  request.on('end', () => {
    if (what === 'to') {
      if (hanging.has(name)) return;
      const of = taken.get(name) ?? nothing();
      taken.set(name, of);
      const now = performance.timeOrigin + performance.now();
      of.at.push(now);
      of.lateMs.push(now - Date.parse(TIMESTAMP.exec(body)?.[1] ?? ''));
      of.last = body;
    } else if (what === 'hang') hanging.add(name);
    else if (what === 'taken') {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(taken.get(name) ?? nothing()));
      taken.delete(name);
      return;
    }
    response.statusCode = 204;
    response.end();
  });
}).listen(port, '127.0.0.1');
process.once('SIGTERM', () => process.exit(0));
