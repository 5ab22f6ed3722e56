import { randomUUID } from 'node:crypto';
import { packUuid } from '@leadgate/contract';
import { expect, test } from 'vitest';
import { ADMINISTRATOR, connectionsOf, operationsUnderTest } from '../test/operations.ts';
import { ledger } from './ledger.ts';
import { Refusal } from './operation.ts';

const under = await operationsUnderTest();

test('the books of an hour with many posts are exact, read a page at a time', async () => {
  const { redis, store } = under;
  const { workspaceId, linkId } = await under.open();
  await store.prisma.$executeRaw`
    INSERT INTO series_hour (subject, at, what, n)
    VALUES (${linkId}::uuid, date_trunc('hour', now()), 'accepted', 31250)`;
  /** As a producer notes what a job carries. Returns the last entry, and an id that is in it. */
  const accept = async (jobs: number, workspace = workspaceId) => {
    const notes = redis.pipeline();
    const head = `${packUuid(workspace)}${packUuid(linkId)}p`;
    const ids = Array.from({ length: 125 }, () => randomUUID());
    for (let job = 1; job < jobs; job++) {
      const packed = ids.map(() => packUuid(randomUUID()));
      notes.xadd('leadgate:{leads-0}:accepted', '*', 'ids', head + packed.join(''));
    }
    notes.xadd('leadgate:{leads-0}:accepted', '*', 'ids', head + ids.map(packUuid).join(''));
    const noted = await notes.exec();
    return { entryId: String(noted?.at(-1)?.[1]), id: ids[0] ?? '' };
  };
  const pages: number[] = [];
  const counting = new Proxy(redis, {
    get: (target, name, receiver) => {
      const member: unknown = Reflect.get(target, name, receiver);
      if (name !== 'xrange' && name !== 'xrevrange') return member;
      return (...args: unknown[]) => {
        pages.push(Number(args.at(-1)));
        return (member as (...args: unknown[]) => unknown).apply(target, args);
      };
    },
  });
  const books = async () => {
    const connections = connectionsOf(under, { redis: () => Promise.resolve(counting) });
    const found = await ledger.show.run({ workspaceId }, connections, ADMINISTRATOR);
    if (found instanceof Refusal) throw new Error(found.detail);
    return found.links[0];
  };

  const passed = await accept(50);
  await accept(10, randomUUID());
  await accept(200);
  expect(await books()).toMatchObject({ accepted: 31_250, waiting: 31_250, difference: 0 });

  await store.prisma.$executeRaw`
    INSERT INTO ledger_cursor (stream, verified) VALUES ('accepted-0', ${passed.entryId})`;
  const standing = await books();
  expect(standing).toMatchObject({ waiting: 25_000, difference: 6_250 });
  expect(standing?.submissions).toContain(passed.id);
  expect(pages.length).toBeGreaterThan(4);
  expect(Math.max(...pages)).toBeLessThan(201);
});
