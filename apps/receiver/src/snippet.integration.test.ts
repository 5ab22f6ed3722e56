import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { makeAsset } from './assets.ts';
import { openApp } from '../test/receiver.ts';

const TEXT = 'leadgate()';
const { hash } = makeAsset(Buffer.from(TEXT), '');
const ETAG = `W/"${hash}"`;

const get = async (url: string, headers: Record<string, string> = {}) =>
  (await openApp()).app.inject({ method: 'GET', url, headers });

test('any page may load the snippet, and a new one is seen soon', async () => {
  const answer = await get('/capture.js');
  expect(answer.statusCode).toBe(200);
  expect(answer.body).toBe(TEXT);
  expect(answer.headers).toMatchObject({
    'content-type': 'text/javascript; charset=utf-8',
    'access-control-allow-origin': '*',
    'cross-origin-resource-policy': 'cross-origin',
    'x-content-type-options': 'nosniff',
    'cache-control': 'public, max-age=300',
    etag: ETAG,
  });
});

test('under the name of its content it is kept for a year', async () => {
  const answer = await get(`/capture-${hash}.js`);
  expect(answer.body).toBe(TEXT);
  expect(answer.headers['cache-control']).toBe('public, max-age=31536000, immutable');
});

test('a name of an earlier release leads to the snippet of today', async () => {
  const answer = await get('/capture-0123456789abcdef.js');
  expect(answer.statusCode).toBe(302);
  expect(answer.headers.location).toBe('/capture.js');
  expect((await get('/capture-no-hash.js')).statusCode).toBe(404);
});

test.each([ETAG, `"other", ${ETAG}`, `"${hash}"`, '*'])(
  'a browser that has it (%s) is not sent it again',
  async (tag) => {
    const answer = await get('/capture.js', { 'if-none-match': tag });
    expect(answer.statusCode).toBe(304);
    expect(answer.body).toBe('');
    expect(answer.headers.etag).toBe(ETAG);
  },
);

test('a browser that has an older one is', async () => {
  expect((await get('/capture.js', { 'if-none-match': 'W/"older"' })).statusCode).toBe(200);
});

test('it is compressed for who takes that, and for nobody else', async () => {
  const compressed = await get('/capture.js', { 'accept-encoding': 'br, gzip;q=0.5' });
  expect(compressed.headers['content-encoding']).toBe('gzip');
  expect(gunzipSync(compressed.rawPayload).toString()).toBe(TEXT);
  const plain = await get('/capture.js', { 'accept-encoding': 'br, gzip;q=0' });
  expect(plain.headers).not.toHaveProperty('content-encoding');
  expect(plain.headers.vary).toBe('Accept-Encoding');
});
