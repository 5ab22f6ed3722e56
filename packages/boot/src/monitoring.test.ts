import { expect, test } from 'vitest';
import { serveMetrics, createMetrics } from './monitoring.ts';

const lines = (text: string, name: string) =>
  text.split('\n').filter((line) => line.startsWith(name));

test('every value of a label is there from the start, so that a first error is an increase', async () => {
  const metrics = createMetrics('test');
  const count = metrics.counters({
    name: 'posts_total',
    help: 'Posts.',
    label: 'answer',
    values: ['accepted', 'refused'],
  });
  count('refused', 2);
  expect(lines(await metrics.text(), 'posts_total')).toEqual([
    'posts_total{answer="accepted",service="test"} 0',
    'posts_total{answer="refused",service="test"} 2',
  ]);
});

test('a value that is not on the list makes no series', async () => {
  const metrics = createMetrics('test');
  const count = metrics.counters<string>({
    name: 'posts_total',
    help: 'Posts.',
    label: 'answer',
    values: ['accepted'],
  });
  for (let n = 0; n < 100; n++) count(`lead-${n}`);
  expect(lines(await metrics.text(), 'posts_total')).toHaveLength(1);
});

test('a gauge that fails or cannot tell is not a number, and the others are read', async () => {
  const metrics = createMetrics('test');
  metrics.gauge({ name: 'away', help: 'Fails.', read: () => Promise.reject(new Error('away')) });
  metrics.gauge({ name: 'unknown', help: 'Unknown.', read: () => null });
  metrics.gauge({ name: 'known', help: 'Known.', read: () => 7 });
  const text = await metrics.text();
  expect(lines(text, 'away{')).toEqual(['away{service="test"} Nan']);
  expect(lines(text, 'unknown{')).toEqual(['unknown{service="test"} Nan']);
  expect(lines(text, 'known{')).toEqual(['known{service="test"} 7']);
});

test('event-loop delay and memory are there without asking', () => {
  const names = createMetrics('test').names();
  expect(names).toContain('nodejs_eventloop_lag_p99_seconds');
  expect(names).toContain('process_resident_memory_bytes');
});

test('two registries of one process do not know of each other', async () => {
  const [first, second] = [createMetrics('first'), createMetrics('second')];
  for (const metrics of [first, second]) metrics.counter({ name: 'n_total', help: 'N.' })();
  expect(lines(await first.text(), 'n_total')).toEqual(['n_total{service="first"} 1']);
});

test('the port of metrics serves them and nothing else', async () => {
  const server = await serveMetrics(createMetrics('test'), { host: '127.0.0.1', port: 0 });
  const get = (path: string) => fetch(`http://127.0.0.1:${server.port}${path}`);
  expect(await (await get('/metrics')).text()).toContain('nodejs_eventloop_lag');
  expect((await get('/')).status).toBe(404);
  await server.close();
});

test('metrics that cannot be read are 503, and no page of them', async () => {
  const text = () => Promise.reject(new Error('not to be told'));
  const metrics = { ...createMetrics('test'), text };
  const server = await serveMetrics(metrics, { host: '127.0.0.1', port: 0 });
  const answer = await fetch(`http://127.0.0.1:${server.port}/metrics`);
  expect([answer.status, await answer.json()]).toEqual([
    503,
    { error: 'it could not be looked up' },
  ]);
  await server.close();
});
