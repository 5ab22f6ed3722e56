/**
 * Lets a long command end in order: the first SIGINT or SIGTERM aborts the signal, a second one ends
 * the process as it always would. `close` takes the listeners away.
 */
export function stopOnInterrupt(): { signal: AbortSignal; close: () => void } {
  const controller = new AbortController();
  const stop = (): void => {
    close();
    controller.abort();
  };
  const close = (): void => {
    process.off('SIGINT', stop);
    process.off('SIGTERM', stop);
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  return { signal: controller.signal, close };
}
