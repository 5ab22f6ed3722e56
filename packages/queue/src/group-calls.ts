interface Call<T> {
  item: T;
  resolve: () => void;
  reject: (reason: unknown) => void;
}

/**
 * Turns calls with one item into calls of `send` with many: those made in the same turn of the
 * event loop go together, at most `maxSize` to a group. A group that fails rejects all its calls.
 */
export function groupCalls<T>(
  send: (items: T[]) => Promise<unknown>,
  { maxSize }: { maxSize: number },
): (item: T) => Promise<void> {
  let gathering: Call<T>[] = [];

  const sendGroup = (calls: Call<T>[]): void => {
    send(calls.map((call) => call.item)).then(
      () => calls.forEach((call) => call.resolve()),
      (reason: unknown) => calls.forEach((call) => call.reject(reason)),
    );
  };
  const sendAll = (): void => {
    const calls = gathering;
    gathering = [];
    for (let i = 0; i < calls.length; i += maxSize) sendGroup(calls.slice(i, i + maxSize));
  };
  return (item) =>
    new Promise((resolve, reject) => {
      if (gathering.length === 0) setImmediate(sendAll);
      gathering.push({ item, resolve, reject });
    });
}
