import type { Submission } from '@leadgate/contract';
import { describe, expect, test, vi } from 'vitest';
import { createGroupCommit, type Failure, type GroupItem } from './group-commit.ts';

/** A promise to be resolved by hand. */
function latch() {
  let open = (): void => {};
  const promise = new Promise<void>((resolve) => (open = resolve));
  return { promise, open };
}

class Failed extends Error {
  readonly failure: Failure;
  constructor(failure: Failure) {
    super(failure);
    this.failure = failure;
  }
}
const failureOf = (error: unknown): Failure => (error instanceof Failed ? error.failure : 'bug');

const item = (id: string): GroupItem => ({
  submission: { id, workspaceId: 'w' } as Submission,
  replay: false,
});
const idsOf = (items: GroupItem[]) => items.map(({ submission }) => submission.id).join('');
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A group commit over a fake commit, with what it was asked to do. */
function setUp(
  commit: (ids: string) => Promise<void> | void,
  { maxGroupSize = 100, maxGroups = 1 } = {},
) {
  const groups: string[] = [];
  const waits: number[] = [];
  const onOutage = vi.fn();
  const groupCommit = createGroupCommit({
    commit: async (items) => {
      const ids = idsOf(items);
      groups.push(ids);
      await commit(ids);
    },
    failureOf,
    maxGroupSize,
    maxGroups,
    onOutage,
    wait: async (ms) => {
      waits.push(ms);
      await turn();
    },
    logger: { warn: vi.fn(), error: vi.fn() },
  });
  /** Adds them in one turn; the outcome of each, by id. */
  const addAll = async (ids: string): Promise<Record<string, string>> => {
    const outcomes = await groupCommit.add([...ids].map(item), { alone: false });
    return Object.fromEntries(
      outcomes.map((outcome, n) => [
        ids[n] ?? '',
        outcome.kind === 'failed' ? outcome.reason : outcome.kind,
      ]),
    );
  };
  return { groupCommit, groups, waits, onOutage, addAll };
}

const allApplied = (ids: string) => Object.fromEntries([...ids].map((id) => [id, 'settled']));

describe('gathering', () => {
  test('a lone submission waits for nobody', async () => {
    const { addAll, groups } = setUp(() => {});
    await addAll('a');
    expect(groups).toEqual(['a']);
  });

  test('while a group commits the next one gathers, up to its largest size', async () => {
    const first = latch();
    const { addAll, groups } = setUp((ids) => (ids === 'a' ? first.promise : undefined), {
      maxGroupSize: 3,
    });
    const a = addAll('a');
    await vi.waitFor(() => expect(groups).toEqual(['a']));
    const rest = addAll('bcdef');
    await turn();
    expect(groups).toEqual(['a']);
    first.open();
    await Promise.all([a, rest]);
    expect(groups).toEqual(['a', 'bcd', 'ef']);
  });

  test('no more groups commit at once than allowed', async () => {
    const latches = new Map<string, ReturnType<typeof latch>>();
    const { addAll, groups } = setUp(
      (ids) => {
        const held = latch();
        latches.set(ids, held);
        return held.promise;
      },
      { maxGroupSize: 1, maxGroups: 2 },
    );
    const done = addAll('abc');
    await vi.waitFor(() => expect(groups).toEqual(['a', 'b']));
    await turn();
    expect(groups).toEqual(['a', 'b']);
    latches.get('b')?.open();
    await vi.waitFor(() => expect(groups).toEqual(['a', 'b', 'c']));
    for (const held of latches.values()) held.open();
    expect(await done).toEqual(allApplied('abc'));
  });

  test('a group beside another one starts when it is full, or after a moment', async () => {
    const held = latch();
    const { addAll, groups, waits } = setUp(() => held.promise, { maxGroupSize: 2, maxGroups: 3 });
    const adding = [addAll('a')];
    await vi.waitFor(() => expect(groups).toEqual(['a']));
    adding.push(addAll('bc'));
    await turn();
    expect(groups).toEqual(['a', 'bc']);
    expect(waits).toEqual([]);
    adding.push(addAll('d'));
    await vi.waitFor(() => expect(groups).toEqual(['a', 'bc', 'd']));
    expect(waits).toEqual([10]);
    held.open();
    await Promise.all(adding);
  });

  test('one that comes soon after another waits for more, and one after a pause does not', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const { addAll, groups, waits } = setUp(() => {});
    await addAll('a');
    vi.advanceTimersByTime(20);
    await Promise.all([addAll('b'), addAll('c')]);
    expect(groups).toEqual(['a', 'bc']);
    expect(waits).toEqual([80]);
    vi.advanceTimersByTime(100);
    await addAll('d');
    expect(groups).toEqual(['a', 'bc', 'd']);
    expect(waits).toEqual([80]);
    vi.useRealTimers();
  });

  test('nothing is reported applied before the commit', async () => {
    const commit = latch();
    const { groupCommit, groups } = setUp(() => commit.promise);
    const applied = vi.fn();
    const adding = groupCommit.add([item('a')], { alone: false }).then(applied);
    await vi.waitFor(() => expect(groups).toEqual(['a']));
    await turn();
    expect(applied).not.toHaveBeenCalled();
    commit.open();
    await adding;
    expect(applied).toHaveBeenCalledOnce();
  });

  test('a submission that failed before is applied in a group of its own', async () => {
    const { groupCommit, groups } = setUp(() => {});
    await Promise.all([
      groupCommit.add([item('a')], { alone: false }),
      groupCommit.add([item('x')], { alone: true }),
      groupCommit.add([item('y')], { alone: true }),
      groupCommit.add([item('b')], { alone: false }),
    ]);
    expect(groups.toSorted()).toEqual(['ab', 'x', 'y']);
  });
});

describe('a group that fails', () => {
  test.each(['data', 'bug'] as const)(
    'for one submission (%s) fails that one alone and applies the rest',
    async (failure) => {
      const { addAll } = setUp((ids) => {
        if (ids.includes('p')) throw new Failed(failure);
      });
      const { p, ...rest } = await addAll('abcpdefgh');
      expect(rest).toEqual(allApplied('abcdefgh'));
      expect(p).toMatch(/^Postgres refused the data|^failed with Failed/);
    },
  );

  test('for two of them finds both', async () => {
    const { addAll } = setUp((ids) => {
      if (/[pq]/.test(ids)) throw new Failed('data');
    });
    const { p, q, ...rest } = await addAll('pabcdq');
    expect(rest).toEqual(allApplied('abcd'));
    expect([p, q]).toEqual(Array(2).fill('Postgres refused the data'));
  });

  test('for a conflict is tried again as it is', async () => {
    let conflicts = 2;
    const { addAll, groups } = setUp(() => {
      if (conflicts-- > 0) throw new Failed('conflict');
    });
    expect(await addAll('abc')).toEqual(allApplied('abc'));
    expect(groups).toEqual(['abc', 'abc', 'abc']);
  });

  test('for conflicts without end does not keep its place for ever', async () => {
    const { addAll } = setUp((ids) => {
      if (ids.includes('p')) throw new Failed('conflict');
    });
    const { p, ...rest } = await addAll('abp');
    expect(rest).toEqual(allApplied('ab'));
    expect(p).toBe('other transactions kept getting in the way');
  });

  test('does not tell what was in it', async () => {
    const groupCommit = createGroupCommit({
      commit: () => Promise.reject(new TypeError('cannot read ana@example.com')),
      failureOf: () => 'bug',
      maxGroupSize: 1,
      maxGroups: 1,
      onOutage: () => {},
      wait: () => Promise.resolve(),
      logger: { warn: vi.fn(), error: vi.fn() },
    });
    expect(await groupCommit.add([item('a')], { alone: false })).toEqual([
      { kind: 'failed', reason: 'failed with TypeError' },
    ]);
  });
});

describe('while Postgres is away', () => {
  test('groups keep their submissions, try again ever more slowly, and apply them all', async () => {
    let failures = 8;
    const { addAll, waits, onOutage, groupCommit } = setUp(() => {
      if (failures-- > 0) throw new Failed('unavailable');
    });
    expect(await addAll('abc')).toEqual(allApplied('abc'));
    expect(waits).toEqual([100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000]);
    expect(onOutage.mock.calls).toEqual([[true], [false]]);
    expect(groupCommit.away).toBe(false);
  });

  test('for an hour, no submission is failed or put back', async () => {
    const rounds = 1_850;
    let failures = rounds;
    const { addAll, waits, onOutage } = setUp(() => {
      if (failures-- > 0) throw new Failed('unavailable');
    });
    expect(await addAll('abc')).toEqual(allApplied('abc'));
    expect(waits.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThan(3_600_000);
    expect(waits).toHaveLength(rounds);
    expect(onOutage).toHaveBeenCalledTimes(2);
  });

  test('groups wait together, and no new one starts', async () => {
    let away = true;
    const held = latch();
    const groups: string[] = [];
    const waits: number[] = [];
    const groupCommit = createGroupCommit({
      commit: (items) => {
        groups.push(idsOf(items));
        return away ? Promise.reject(new Failed('unavailable')) : Promise.resolve();
      },
      failureOf,
      maxGroupSize: 1,
      maxGroups: 2,
      onOutage: () => {},
      wait: (ms) => {
        waits.push(ms);
        return held.promise;
      },
      logger: { warn: vi.fn(), error: vi.fn() },
    });
    const adding = [...'abc'].map((id) => groupCommit.add([item(id)], { alone: false }));
    await vi.waitFor(() => expect(groups).toEqual(['a', 'b']));
    await turn();
    expect(groups).toEqual(['a', 'b']);
    expect(waits).toEqual([100]);
    away = false;
    held.open();
    await Promise.all(adding);
    expect(groups.slice(2).toSorted()).toEqual(['a', 'b', 'c']);
  });

  test('stopping puts back what was not applied, waiting groups and gathered ones', async () => {
    const held = latch();
    const { groupCommit, groups } = (() => {
      const groups: string[] = [];
      return {
        groups,
        groupCommit: createGroupCommit({
          commit: (items) => {
            groups.push(idsOf(items));
            return Promise.reject(new Failed('unavailable'));
          },
          failureOf,
          maxGroupSize: 1,
          maxGroups: 1,
          onOutage: () => {},
          wait: (_, signal) => {
            signal.addEventListener('abort', () => held.open());
            return held.promise;
          },
          logger: { warn: vi.fn(), error: vi.fn() },
        }),
      };
    })();
    const adding = [...'abc'].map((id) => groupCommit.add([item(id)], { alone: false }));
    const outcomes = Promise.all(adding);
    await vi.waitFor(() => expect(groups).toEqual(['a']));
    groupCommit.stop();
    for (const outcome of await outcomes) expect(outcome).toEqual([{ kind: 'nacked' }]);
    expect(groups).toEqual(['a']);
  });

  test('a group under way when the worker stops is committed, not put back', async () => {
    const commit = latch();
    const { groupCommit, groups, addAll } = setUp(() => commit.promise);
    const adding = addAll('ab');
    await vi.waitFor(() => expect(groups).toEqual(['ab']));
    groupCommit.stop();
    commit.open();
    expect(await adding).toEqual(allApplied('ab'));
  });

  test('a group that Postgres does not answer is put back once nobody waits any longer', async () => {
    const { groupCommit, groups } = setUp(() => new Promise<never>(() => {}));
    const adding = [...'ab'].map((id) => groupCommit.add([item(id)], { alone: false }));
    const outcomes = Promise.all(adding);
    await vi.waitFor(() => expect(groups).toEqual(['ab']));
    groupCommit.stop();
    groupCommit.abandon();
    for (const outcome of await outcomes) expect(outcome).toEqual([{ kind: 'nacked' }]);
    expect(await groupCommit.add([item('c')], { alone: false })).toEqual([{ kind: 'nacked' }]);
  });
});
