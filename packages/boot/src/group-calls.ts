import { traced, traceparent } from './tracing.ts';

interface Call<Item, Answer> {
  item: Item;
  trace: string | undefined;
  resolve: (answer: Answer) => void;
  reject: (reason: unknown) => void;
}

/**
 * Turns calls with one item into calls of `send` with many: those made in the same turn of the
 * event loop go together, and while a group is on its way those that come gather for the next one,
 * so that groups are as large as the load makes them. At most `maxSize` go to a group, or as many as
 * weigh `maxWeight` together (a heavier one goes alone), and a full one waits for no other. `send` resolves
 * with the answers in the order of the items; if it rejects, all calls of the group do. With a
 * `spacingMs`, groups start at least so far apart while calls are many: the fewer groups, the less each costs.
 * `name`: of the span of a group, if it is traced.
 */
export function groupCalls<Item, Answer>(
  send: (items: Item[]) => Promise<readonly Answer[]>,
  {
    name,
    maxSize,
    weigh = () => 0,
    maxWeight = Infinity,
    spacingMs = 0,
  }: {
    name: string;
    maxSize: number;
    weigh?: (item: Item) => number;
    maxWeight?: number;
    spacingMs?: number;
  },
): (item: Item) => Promise<Answer> {
  const gathering: Call<Item, Answer>[] = [];
  let scheduled = false;
  let underWay = 0;
  let weight = 0;
  let lastStart = -Infinity;
  let isWaiting = false;
  const { isBusy, count } = watchRate();

  const sendGroup = async (calls: Call<Item, Answer>[]): Promise<void> => {
    underWay++;
    lastStart = performance.now();
    try {
      const traces = () => calls.map(({ trace }) => trace);
      const answers = await traced(name, traces, () => send(calls.map(({ item }) => item)));
      if (answers.length !== calls.length) throw new TypeError('a call has no answer');
      answers.forEach((answer, i) => calls[i]?.resolve(answer));
    } catch (error) {
      for (const { reject } of calls) reject(error);
    } finally {
      underWay--;
      schedule();
    }
  };
  const isFull = (): boolean => gathering.length >= maxSize || weight >= maxWeight;
  const nextGroup = (): Call<Item, Answer>[] => {
    let size = 0;
    let itsWeight = 0;
    for (const { item } of gathering) {
      const more = weigh(item);
      if (size === maxSize || (size > 0 && itsWeight + more > maxWeight)) break;
      size += 1;
      itsWeight += more;
    }
    weight -= itsWeight;
    return gathering.splice(0, size);
  };
  const sendGroups = (): void => {
    scheduled = false;
    while (isFull() || (gathering.length > 0 && underWay === 0)) {
      const early = isFull() || !isBusy() ? 0 : lastStart + spacingMs - performance.now();
      if (early > 0) {
        waitFor(early);
        return;
      }
      void sendGroup(nextGroup());
    }
  };
  const waitFor = (ms: number): void => {
    if (isWaiting) return;
    isWaiting = true;
    setTimeout(() => {
      isWaiting = false;
      sendGroups();
    }, ms);
  };
  // setImmediate and not a microtask: what all sockets brought in this turn goes together.
  const schedule = (): void => {
    if (scheduled || gathering.length === 0) return;
    scheduled = true;
    setImmediate(sendGroups);
  };
  return (item) =>
    new Promise((resolve, reject) => {
      gathering.push({ item, trace: traceparent(), resolve, reject });
      weight += weigh(item);
      if (spacingMs > 0) count();
      schedule();
    });
}

const WINDOW_MS = 100;
/** So many calls in a window are many: 500 a second. */
const MANY = 50;

/** Whether calls were many in the window of time before this one. */
function watchRate(): { isBusy: () => boolean; count: () => void } {
  let start = -Infinity;
  let calls = 0;
  let isBusy = false;
  return {
    isBusy: () => isBusy,
    count: () => {
      const now = performance.now();
      if (now - start >= WINDOW_MS) {
        isBusy = calls >= MANY && now - start < 2 * WINDOW_MS;
        start = now;
        calls = 0;
      }
      calls += 1;
    },
  };
}
