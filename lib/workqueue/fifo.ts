/** The array is compacted once it has more cleared slots than this, and more cleared slots than others. */
const slackMax = 1_024;

/**
 * A queue that removes the first element without moving the others; removed slots are cleared so that nothing leaks.
 */
export class Fifo<T> {
  #slots: (T | undefined)[] = [];
  #head = 0;

  get length(): number {
    return this.#slots.length - this.#head;
  }

  push(value: T): void {
    this.#slots.push(value);
  }

  shift(): T | undefined {
    if (this.#head >= this.#slots.length) return undefined;
    const value = this.#slots[this.#head];
    this.#slots[this.#head] = undefined;
    this.#head += 1;
    if (this.#head > slackMax && this.#head * 2 > this.#slots.length) {
      this.#slots = this.#slots.slice(this.#head);
      this.#head = 0;
    }
    return value;
  }

  clear(): void {
    this.#slots = [];
    this.#head = 0;
  }
}
