import { expect, test } from 'vitest';
import { readDemo } from './assets.ts';
import { CODE, openApp } from '../test/receiver.ts';

const demo = readDemo({ code: CODE, consoleUrl: 'http://127.0.0.1:3001/' });
const get = async (url: string, services = {}) =>
  (await openApp({ services })).app.inject({ method: 'GET', url });

test('there is no demo where no link is named for it', async () => {
  expect((await get('/demo')).statusCode).toBe(404);
  expect((await get('/demo/demo.js')).statusCode).toBe(404);
});

test('the demo posts to its link with and without a script, and knows the console', async () => {
  const { body, headers } = await get('/demo', { demo });
  expect(headers['content-type']).toBe('text/html; charset=utf-8');
  expect(body).toContain(`<script src="/capture.js" data-link="${CODE}" async></script>`);
  expect(body).toContain(`action="/ingest/${CODE}" method="post"`);
  expect(body).toContain('data-console="http://127.0.0.1:3001"');
  expect(body).not.toContain('{{');
});

test('nothing of it is inline or from elsewhere, as its policy says', async () => {
  const { body, headers } = await get('/demo', { demo });
  const policy = String(headers['content-security-policy']);
  expect(policy).toContain("default-src 'none'");
  expect(policy).not.toMatch(/unsafe|\*|https?:/);
  expect(body).not.toMatch(/<style|<script>|\son\w+=|\sstyle=|(src|href)="(https?:)?\/\//);
  expect((await get('/demo/demo.css', { demo })).headers['content-type']).toContain('text/css');
  expect((await get('/demo/demo.js', { demo })).headers['content-type']).toContain('javascript');
});

test('an address of the console cannot break out of the page', () => {
  const { page } = readDemo({ code: '"><script>', consoleUrl: 'http://x/"><script>alert(1)' });
  expect(page.bytes.toString()).not.toContain('"><script>');
});
