/** Memory of an item besides its data, estimated, in bytes. */
const itemBytes = 200;

/**
 * Reads a stream without waiting for its reader, up to a number of bytes. A slow reader therefore does not delay the
 * sender.
 *
 * @example
 * const pieces = containers.logs(id, query, signal);
 * const ahead = new ReadAhead(pieces, 2 ** 20, ({ data }) => data.length);
 * for await (const piece of ahead) process(piece);
 * if (ahead.isCut) continueElsewhere();
 */
export class ReadAhead<T> implements AsyncIterable<T> {
  readonly #source: AsyncIterable<T>;
  readonly #bytesMax: number;
  readonly #bytesOf: (item: T) => number;
  readonly #items: T[] = [];
  #isOver = false;
  #isCut = false;
  #failure: { readonly error: unknown } | undefined;
  #wake: () => void = () => undefined;

  /** @param bytesOf the data of an item, in bytes */
  constructor(source: AsyncIterable<T>, bytesMax: number, bytesOf: (item: T) => number) {
    this.#source = source;
    this.#bytesMax = bytesMax;
    this.#bytesOf = bytesOf;
  }

  /** Whether the reading stopped at the limit, so that the source may have more. Known once the iteration has ended. */
  get isCut(): boolean {
    return this.#isCut;
  }

  /** @throws the error of the source, after the items before it */
  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    const reading = this.#read();
    for (;;) {
      yield* this.#items.splice(0);
      if (this.#isOver && this.#items.length === 0) break;
      if (this.#items.length === 0)
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
    await reading;
    if (this.#failure) throw this.#failure.error;
  }

  async #read(): Promise<void> {
    let left = this.#bytesMax;
    try {
      for await (const item of this.#source) {
        this.#items.push(item);
        left -= this.#bytesOf(item) + itemBytes;
        this.#isCut = left <= 0;
        this.#wake();
        if (this.#isCut) break;
      }
    } catch (error) {
      this.#failure = { error };
    }
    this.#isOver = true;
    this.#wake();
  }
}
