interface Call<T> {
  item: T;
  resolve: () => void;
  reject: (reason: unknown) => void;
}

/**
 * Turns calls with one item into calls of `send` with many: those made in the same turn of the
 * event loop go together, and while a group is on its way those that come gather for the next one,
 * so that groups are as large as the load makes them. At most `maxSize` go to a group, and a full
 * one waits for no other. A group that fails rejects all its calls.
 */
export function groupCalls<T>(
  send: (items: T[]) => Promise<unknown>,
  { maxSize }: { maxSize: number },
): (item: T) => Promise<void> {
  const gathering: Call<T>[] = [];
  let scheduled = false;
  let underWay = 0;

  const sendGroup = (calls: Call<T>[]): void => {
    underWay++;
    send(calls.map((call) => call.item))
      .then(
        () => calls.forEach((call) => call.resolve()),
        (reason: unknown) => calls.forEach((call) => call.reject(reason)),
      )
      .finally(() => {
        underWay--;
        schedule();
      });
  };
  const sendGroups = (): void => {
    scheduled = false;
    while (gathering.length >= maxSize || (gathering.length > 0 && underWay === 0))
      sendGroup(gathering.splice(0, maxSize));
  };
  const schedule = (): void => {
    if (scheduled || gathering.length === 0) return;
    scheduled = true;
    setImmediate(sendGroups);
  };
  return (item) =>
    new Promise((resolve, reject) => {
      gathering.push({ item, resolve, reject });
      schedule();
    });
}
