import { createHmac, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { Agent, request } from 'undici';
import { readSettings } from './http-service.js';

/**
 * The ceiling of a deliverer: a body that is there is signed and posted, over so many connections. Each GET of
 * /send/<count> sends so many and is answered when all are.
 */
/** @type {{ port: number, url: string, connections: number, body: string }} */
const { port, url, connections, body } = readSettings();
const key = Buffer.from('a key of thirty-two bytes, or so.');
const dispatcher = new Agent({ connections });

async function send() {
  const id = `msg_${randomUUID()}`;
  const seconds = Math.floor(Date.now() / 1_000);
  const hmac = createHmac('sha256', key).update(`${id}.${seconds.toString()}.${body}`);
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': seconds.toString(),
    'webhook-signature': `v1,${hmac.digest('base64')}`,
  };
  const response = await request(url, { dispatcher, method: 'POST', headers, body });
  await response.body.text();
  if (response.statusCode !== 204) throw new Error(response.statusCode.toString());
}

createServer((asked, response) => {
  const [, what, count] = (asked.url ?? '').split('/');
  let left = what === 'send' ? Number(count) : 0;
  const sendOn = async () => {
    while (left > 0) {
      left -= 1;
      await send();
    }
  };
  void Promise.all(Array.from({ length: connections }, sendOn)).then(() => response.end());
}).listen(port, '127.0.0.1');
process.once('SIGTERM', () => process.exit(0));
