/** Waits for work at most `ms` milliseconds; then rejects, and the work goes on unheard. */
export async function withinTime<T>(work: Promise<T>, ms: number, late: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(late)), ms);
  });
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}

/** The answer; null if it fails, or does not come within `ms` milliseconds. */
export const answerWithin = <T>(answer: Promise<T>, ms: number): Promise<T | null> =>
  withinTime(answer, ms, 'no answer').catch(() => null);
