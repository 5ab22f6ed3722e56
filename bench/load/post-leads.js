import { createHistogram } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import autocannon from 'autocannon';
import { bodyOf, peopleFrom } from '../people.js';

/**
 * A process that posts leads by autocannon and prints what came of it as JSON. Its argument is a
 * LoadOrder as JSON.
 *
 * @typedef {object} LoadOrder
 * @property {string} url
 * @property {number} connections
 * @property {number} seconds
 * @property {number | null} rate requests a second; null: as many as are answered
 * @property {number} first number of the first new person
 * @property {number} known
 *
 * @typedef {object} LoadResult
 * @property {number} answers
 * @property {number} rate accepted a second
 * @property {Record<string, number>} statuses
 * @property {number} errors of connections, and timeouts
 * @property {{ p50: number, p99: number, max: number }} ms
 */

/**
 * autocannon holds a rate by second: what is due is sent at once, and then it waits. So a rate is
 * shared by this many of it, each started this part of a second later.
 */
const SLICES = 40;

const HEADERS = {
  'content-type': 'application/json',
  origin: 'https://landing.example.com',
  referer: 'https://landing.example.com/curso?utm_source=instagram&utm_medium=cpc',
  'user-agent':
    'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36',
};

/** @type {LoadOrder} */
const order = JSON.parse(process.argv[2] ?? '');
const next = peopleFrom(order);
const histogram = createHistogram({ lowest: 1, highest: 60_000_000, figures: 3 });
/** @type {Record<string, number>} */
const statuses = {};
let errors = 0;
let answers = 0;
let sent = 0;

const slices = order.rate === null ? 1 : SLICES;
const ratePerSlice = order.rate === null ? null : Math.max(1, Math.round(order.rate / slices));
const connections = Math.ceil(order.connections / slices);
/** What one connection has between two requests when it keeps its rate, in microseconds. */
const interval = ratePerSlice === null ? null : (connections * 1e6) / ratePerSlice;

let rate = 0;
/** @type {Promise<void>[]} */
const runs = [];
for (let i = 0; i < slices; i++) {
  runs.push(fire());
  if (i + 1 < slices) await delay(1_000 / slices);
}
await Promise.all(runs);

/** @type {LoadResult} */
const result = {
  answers,
  rate,
  statuses,
  errors,
  ms: {
    p50: histogram.percentile(50) / 1_000,
    p99: histogram.percentile(99) / 1_000,
    max: histogram.max / 1_000,
  },
};
process.stdout.write(JSON.stringify(result));

/** @returns {Promise<void>} */
function fire() {
  const start = performance.now();
  let accepted = 0;
  return new Promise((resolve, reject) => {
    const instance = autocannon(
      {
        url: order.url,
        connections,
        duration: order.seconds,
        timeout: 10,
        ...(ratePerSlice !== null && { overallRate: ratePerSlice }),
        requests: [{ method: 'POST', headers: HEADERS, setupRequest: nextRequest }],
      },
      (error, result) => {
        if (error) return reject(new Error('the load failed', { cause: error }));
        errors += result.errors;
        rate += (accepted * 1_000) / (performance.now() - start);
        resolve();
      },
    );
    instance.on('response', (_client, status, _bytes, milliseconds) => {
      answers += 1;
      if (status === 202) accepted += 1;
      statuses[status] = (statuses[status] ?? 0) + 1;
      record(Math.max(1, Math.round(milliseconds * 1_000)));
    });
  });
}

/**
 * Records an answer, and those that its connection did not ask for while it waited for this one:
 * left out, a stall would count once, however many it kept waiting (coordinated omission).
 * @param {number} micros
 */
function record(micros) {
  histogram.record(micros);
  if (interval === null) return;
  for (let late = micros - interval; late >= 1; late -= interval)
    histogram.record(Math.round(late));
}

/**
 * @param {autocannon.Request} request
 * @returns {autocannon.Request}
 */
function nextRequest(request) {
  const person = next();
  return {
    ...request,
    headers: {
      ...HEADERS,
      'idempotency-key': `${order.first.toString(36)}-${(++sent).toString(36)}`,
    },
    body: bodyOf(person),
  };
}
