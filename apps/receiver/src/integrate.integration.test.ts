import { afterEach, beforeEach, expect, test } from 'vitest';
import { testRedis } from '@leadgate/testkit';
import { runExample } from '../test/doc-examples.ts';
import { EXAMPLE_LEAD, exampleIn, readExamples } from '../test/doc-examples.ts';
import { closeAll, connectTo, type Receiver, refill, startOn, takeJobs } from '../test/receiver.ts';

let redisUrl: string;
let receiver: Receiver;

beforeEach(async () => {
  ({ url: redisUrl } = await testRedis());
  await refill(connectTo(redisUrl));
  receiver = await startOn(redisUrl);
});
afterEach(closeAll);

const runFetch = (change: (text: string) => string = (text) => text) =>
  runExample(process.execPath, ['--input-type=module'], change(exampleIn(receiver.url, 'js')));

test('the fetch example sends a lead and has its id', async () => {
  const ran = await runFetch();
  expect(ran).toMatchObject({ status: 0, err: '' });
  const [submission] = await takeJobs(redisUrl, 1);
  expect(submission).toMatchObject({ leadId: ran.out.trim(), lead: EXAMPLE_LEAD, notes: [] });
});

test('the fetch example says which field is wrong, and does not try that again', async () => {
  const { err } = await runFetch((text) => text.replace("'(11) 98765-4321'", "'12'"));
  expect(err).toMatch(/^Some fields cannot be accepted\.\n\/telephone: ./);
});

test('the fetch example comes back after what it could not reach', async () => {
  const { url } = receiver;
  await receiver.close();
  const running = runFetch((text) => text.replaceAll(receiver.url, url));
  receiver = await startOn(redisUrl, { RECEIVER_PORT: new URL(url).port });
  const ran = await running;
  expect(ran).toMatchObject({ status: 0, err: '' });
  expect(await takeJobs(redisUrl, 1)).toHaveLength(1);
});

const requests = readExamples('').filter(({ language }) => language === 'http');

test.each(requests)('what $heading sends is a lead', async ({ text }) => {
  const [head = '', body = ''] = text.split('\n\n');
  const [start = '', ...lines] = head.split('\n');
  const [method = '', path = ''] = start.split(' ');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  const answer = await fetch(receiver.url + path, { method, headers, body: body.trimEnd() });
  expect(answer.status).toBe(202);
  const { leadId } = (await answer.json()) as { leadId: string };
  const [submission] = await takeJobs(redisUrl, 1);
  expect(submission).toMatchObject({ leadId, lead: EXAMPLE_LEAD });
});

test('every sender that the page names is replayed', () => {
  const senders = new Set(requests.map(({ heading }) => heading));
  expect([...senders]).toEqual(['Google Tag Manager', 'WordPress', 'n8n', 'Zapier']);
});
