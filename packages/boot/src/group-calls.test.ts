import { afterEach, expect, test, vi } from 'vitest';
import { groupCalls } from './group-calls.ts';

/** Groups as they were sent, each of which ends when it is told to. */
function sender() {
  const sent: { items: number[]; end: () => void; fail: (reason: Error) => void }[] = [];
  const send = (items: number[]) =>
    new Promise<number[]>((resolve, reject) =>
      sent.push({ items, end: () => resolve(items.map((item) => 10 * item)), fail: reject }),
    );
  return { sent, send, itemsSent: () => sent.map(({ items }) => items) };
}

const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));

afterEach(() => vi.useRealTimers());

test('what comes while a group is on its way gathers for the next one', async () => {
  const { sent, send, itemsSent } = sender();
  const call = groupCalls(send, { name: 'group', maxSize: 3 });
  const calls = [call(1), call(2)];
  await turn();
  calls.push(call(3));
  await turn();
  calls.push(call(4));
  await turn();
  expect(itemsSent()).toEqual([[1, 2]]);
  sent[0]?.end();
  await turn();
  expect(itemsSent()).toEqual([
    [1, 2],
    [3, 4],
  ]);
  sent[1]?.end();
  expect(await Promise.all(calls)).toEqual([10, 20, 30, 40]);
});

test('a full group waits for no other, so one that hangs holds up less than a group', async () => {
  const { sent, send, itemsSent } = sender();
  const call = groupCalls(send, { name: 'group', maxSize: 2 });
  const calls = [1, 2, 3, 4, 5].map(call);
  await turn();
  expect(itemsSent()).toEqual([
    [1, 2],
    [3, 4],
  ]);
  sent.forEach(({ end }) => end());
  await turn();
  sent[2]?.end();
  await Promise.all(calls);
});

test('a group that fails rejects its own calls, and the next one goes', async () => {
  const { sent, send } = sender();
  const call = groupCalls(send, { name: 'group', maxSize: 10 });
  const failing = expect(call(1)).rejects.toThrow('no');
  await turn();
  const next = call(2);
  sent[0]?.fail(new Error('no'));
  await failing;
  await turn();
  sent[1]?.end();
  await next;
});

test('with a spacing, groups wait for more while calls are many, and a full one does not', async () => {
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout'] });
  const sizes: number[] = [];
  const call = groupCalls(
    (items: number[]) => {
      sizes.push(items.length);
      return Promise.resolve(items);
    },
    { name: 'group', maxSize: 5, spacingMs: 4 },
  );
  const oneATurn = async (calls: number) => {
    sizes.splice(0);
    for (let n = 0; n < calls; n += 1) {
      void call(n);
      await turn();
    }
  };
  await oneATurn(50);
  expect(sizes).toHaveLength(50);
  vi.advanceTimersByTime(100);
  await oneATurn(4);
  expect(sizes).toEqual([1]);
  vi.advanceTimersByTime(4);
  await turn();
  expect(sizes).toEqual([1, 3]);
  await oneATurn(5);
  expect(sizes).toEqual([5]);
  // A window with few calls: nobody waits.
  vi.advanceTimersByTime(100);
  await oneATurn(3);
  expect(sizes).toEqual([1, 1, 1]);
});
