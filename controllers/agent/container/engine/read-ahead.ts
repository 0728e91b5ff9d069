/** Memory of an item besides its data, estimated, in bytes. */
const itemBytes = 200;

/** An item with data. */
interface Sized {
  readonly data: Uint8Array;
}

/**
 * Reads a stream without waiting for its reader, up to a number of bytes. The sender of the stream is therefore never
 * delayed by a slow reader.
 *
 * @example
 * const ahead = new ReadAhead(containers.logs(id, query, signal), 2 ** 20);
 * for await (const piece of ahead) process(piece);
 * if (ahead.isCut) continueElsewhere();
 */
export class ReadAhead<T extends Sized> implements AsyncIterable<T> {
  readonly #source: AsyncIterable<T>;
  readonly #bytesMax: number;
  readonly #items: T[] = [];
  #isOver = false;
  #isCut = false;
  #failure: { readonly error: unknown } | undefined;
  #wake: () => void = () => undefined;

  constructor(source: AsyncIterable<T>, bytesMax: number) {
    this.#source = source;
    this.#bytesMax = bytesMax;
  }

  /** Whether the source had more. Known once the iteration has ended. */
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
        left -= item.data.length + itemBytes;
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
