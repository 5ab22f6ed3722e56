import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createLimits, type Limits } from './limits.ts';

const MINUTE = Date.UTC(2026, 10, 27, 12, 0, 0);
beforeEach(() => {
  vi.useFakeTimers({ now: MINUTE });
});
afterEach(() => {
  vi.useRealTimers();
});

const use = (key: string, max = 10) => ({ joinLimit: null, request: { limits: [{ key, max }] } });
const carried = (limits: Limits, workspaceId: string, ...keys: string[]) =>
  limits.send(
    workspaceId,
    keys.map((key) => use(key)),
  );

describe('what this process counts', () => {
  test('uses are counted from one up to the limit, and refusals use up nothing', () => {
    const limits = createLimits();
    const positions = Array.from({ length: 5 }, () => limits.count('w', 'link:1', 3).current);
    expect(positions).toEqual([1, 2, 3, 4, 4]);
    expect(limits.count('w', 'link:1', 5).current).toBe(4);
  });

  test('a new minute starts from nothing, and says when it comes', () => {
    const limits = createLimits();
    vi.setSystemTime(MINUTE + 45_500);
    limits.count('w', 'link:1', 3);
    expect(limits.count('w', 'link:1', 3)).toEqual({ current: 2, ttlMs: 14_500 });
    vi.setSystemTime(MINUTE + 60_000);
    expect(limits.count('w', 'link:1', 3)).toEqual({ current: 1, ttlMs: 60_000 });
  });

  test('workspaces, and those without one, are counted apart', () => {
    const limits = createLimits();
    limits.count('w', 'address:1', 3);
    expect(limits.count('v', 'address:1', 3).current).toBe(1);
    expect(limits.count(null, 'address:1', 3).current).toBe(1);
  });

  test('a flood of addresses takes bounded memory, and leaves room for those of known links', () => {
    const limits = createLimits();
    for (let i = 0; i < 60_000; i++) limits.count(null, `address:${i}`, 3);
    limits.count('w', 'address:1', 3);
    expect(limits.count('w', 'address:1', 3).current).toBe(2);
    for (let i = 0; i < 60_000; i++) limits.count('w', `address:${i}`, 3);
    limits.count('w', 'address:59999', 3);
    expect(limits.count('w', 'address:59999', 3).current).toBe(1);
  });
});

describe('what Redis counts', () => {
  test('what other receivers took is known from the last answer', () => {
    const limits = createLimits();
    limits.count('w', 'link:1', 10);
    const sent = carried(limits, 'w', 'link:1');
    expect(limits.count('w', 'link:1', 10).current).toBe(2);
    limits.confirm(sent, [8], MINUTE);
    expect(limits.count('w', 'link:1', 10).current).toBe(10);
    expect(limits.count('w', 'link:1', 10).current).toBe(11);
  });

  test('uses that got no answer are still counted', () => {
    const limits = createLimits();
    limits.count('w', 'link:1', 10);
    limits.giveUp(carried(limits, 'w', 'link:1'));
    expect(limits.count('w', 'link:1', 10).current).toBe(2);
  });

  test('minutes are those of the clock of Redis', () => {
    const limits = createLimits();
    limits.confirm(carried(limits, 'w', 'link:1'), [1], MINUTE + 59_000);
    expect(limits.count('w', 'link:1', 10)).toEqual({ current: 2, ttlMs: 1_000 });
    vi.setSystemTime(MINUTE + 1_000);
    expect(limits.count('w', 'link:1', 10).current).toBe(1);
  });

  test('a Redis whose clock is minutes behind is still followed', () => {
    const limits = createLimits();
    limits.count('w', 'link:1', 10);
    limits.confirm(carried(limits, 'w', 'link:1'), [1], MINUTE - 600_000);
    limits.count('w', 'link:1', 10);
    limits.confirm(carried(limits, 'w', 'link:1'), [7], MINUTE - 600_000);
    expect(limits.count('w', 'link:1', 10).current).toBe(8);
  });

  test('uses that never came to a reservation are reported with a later group, once', () => {
    const limits = createLimits();
    for (let i = 0; i < 3; i++) limits.count('w', 'address:1', 10);
    // On their way, as far as anyone knows.
    expect(carried(limits, 'w', 'link:1').limits).toEqual([{ key: 'link:1', max: 10, extra: 0 }]);
    vi.setSystemTime(MINUTE + 2_000);
    limits.count('w', 'address:1', 10);
    vi.setSystemTime(MINUTE + 4_000);
    limits.count('w', 'address:1', 10);
    const sent = carried(limits, 'w', 'link:1');
    expect(sent.limits).toEqual([
      { key: 'link:1', max: 10, extra: 0 },
      { key: 'address:1', max: 0, extra: 3 },
    ]);
    expect(limits.count('w', 'address:1', 10).current).toBe(6);
    limits.confirm(sent, [1, 3], MINUTE + 4_000);
    expect(limits.count('w', 'address:1', 10).current).toBe(7);
    expect(carried(limits, 'w', 'link:1').limits).toEqual([{ key: 'link:1', max: 10, extra: 0 }]);
  });

  test('uses that did come to a reservation are not reported again', () => {
    const limits = createLimits();
    for (let second = 0; second < 20; second++) {
      vi.setSystemTime(MINUTE + second * 1_000);
      limits.count('w', 'link:1', 100);
      const sent = carried(limits, 'w', 'link:1');
      expect(sent.limits).toEqual([{ key: 'link:1', max: 10, extra: 0 }]);
      limits.confirm(sent, [second + 1], Date.now());
    }
    expect(limits.count('w', 'link:1', 100).current).toBe(21);
  });
});
