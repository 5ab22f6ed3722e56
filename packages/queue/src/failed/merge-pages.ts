/**
 * Several sequences, each in order and page by page, as one in order, in pages of `pageSize` at most.
 * What is closed early closes all of them.
 */
export async function* mergePages<T>(
  sources: readonly AsyncGenerator<T[]>[],
  comesFirst: (a: T, b: T) => boolean,
  pageSize: number,
): AsyncGenerator<T[]> {
  const heads = sources.map((source) => new Head(source));
  try {
    let page: T[] = [];
    for (;;) {
      let first: { head: Head<T>; item: T } | null = null;
      for (const head of heads) {
        const item = await head.peek();
        if (item !== undefined && (first === null || comesFirst(item, first.item)))
          first = { head, item };
      }
      if (first === null) break;
      first.head.drop();
      page.push(first.item);
      if (page.length < pageSize) continue;
      yield page;
      page = [];
    }
    if (page.length > 0) yield page;
  } finally {
    await Promise.all(sources.map((source) => source.return(undefined)));
  }
}

/** The next item of a source. */
class Head<T> {
  readonly #source: AsyncGenerator<T[]>;
  #page: T[] = [];
  #next = 0;
  #ended = false;

  constructor(source: AsyncGenerator<T[]>) {
    this.#source = source;
  }

  async peek(): Promise<T | undefined> {
    while (this.#next === this.#page.length && !this.#ended) {
      const next = await this.#source.next();
      this.#ended = next.done === true;
      this.#page = next.done === true ? [] : next.value;
      this.#next = 0;
    }
    return this.#page[this.#next];
  }

  drop(): void {
    this.#next += 1;
  }
}
