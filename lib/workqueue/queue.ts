/** State of a key the queue knows. Absent from the map: unknown to the queue. */
type KeyState = 'queued' | 'processing' | 'processing-dirty';

/** What {@link WorkQueue.get} gives. */
export type Handout<K> =
  | { readonly key: K; readonly shutDown: false }
  | { readonly shutDown: true };

/** What a drain left behind. */
export interface DrainReport<K> {
  readonly drained: boolean;
  /** Keys that were queued or in process when the deadline passed. */
  readonly left: readonly K[];
}

/**
 * Keys waiting for work, client-go's `workqueue` without its two defects (research/controllers.md 2.1).
 *
 * Invariants: a key is in exactly one of {absent, queued, processing, processing-dirty}; it is in the
 * ring exactly once when queued and never otherwise; so one key is never with two workers.
 */
export class WorkQueue<K> {
  readonly #states = new Map<K, KeyState>();
  #ring: (K | undefined)[] = [];
  /** Index of the next key in the ring; taken slots are cleared so that nothing leaks. */
  #head = 0;
  readonly #waiting: ((handout: Handout<K>) => void)[] = [];
  readonly #drainers: (() => void)[] = [];
  #state: 'open' | 'draining' | 'shutDown' = 'open';

  /** Keys ready to be handed out. */
  get len(): number {
    return this.#ring.length - this.#head;
  }

  get shuttingDown(): boolean {
    return this.#state !== 'open';
  }

  /** Marks the key for work: queued once however often it is added; while it is processed, once more after. */
  add(key: K): void {
    if (this.#state !== 'open') return;
    const state = this.#states.get(key);
    if (state === 'processing') this.#states.set(key, 'processing-dirty');
    if (state !== undefined) return;
    this.#states.set(key, 'queued');
    this.#push(key);
  }

  /** The next key, oldest first; waits for one. After shutdown: what is queued while draining, then the end. */
  get(): Promise<Handout<K>> {
    const key = this.#take();
    if (key !== undefined) return Promise.resolve({ key, shutDown: false });
    if (this.#state !== 'open') return Promise.resolve({ shutDown: true });
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Ends the work on a key; if it was added meanwhile it goes to the tail. For a key not handed out: nothing. */
  done(key: K): void {
    const state = this.#states.get(key);
    if (state === 'processing') {
      this.#states.delete(key);
    } else if (state === 'processing-dirty') {
      // Also while draining: the change came before the end.
      this.#states.set(key, 'queued');
      this.#push(key);
    } else {
      return;
    }
    if (this.#states.size === 0) this.#settleDrain();
  }

  /** Stops: queued keys are dropped, waiting `get` calls end, work under way goes on. Repeatable. */
  shutDown(): void {
    this.#state = 'shutDown';
    for (const [key, state] of this.#states) if (state === 'queued') this.#states.delete(key);
    this.#ring = [];
    this.#head = 0;
    this.#endWaiting();
    this.#settleDrain();
  }

  /**
   * Stops taking keys and resolves once everything queued was handed out and done, or when `expired`
   * resolves; then the rest is dropped and reported.
   */
  async shutDownWithDrain(expired: Promise<void>): Promise<DrainReport<K>> {
    if (this.#state === 'open') this.#state = 'draining';
    this.#endWaiting();
    if (this.#states.size > 0) {
      const drained = new Promise<void>((resolve) => this.#drainers.push(resolve));
      await Promise.race([drained, expired]);
    }
    const left = [...this.#states.keys()];
    this.shutDown();
    return { drained: left.length === 0, left };
  }

  #push(key: K): void {
    const waiter = this.#waiting.shift();
    if (waiter) {
      this.#states.set(key, 'processing');
      waiter({ key, shutDown: false });
      return;
    }
    this.#ring.push(key);
  }

  #take(): K | undefined {
    if (this.#head >= this.#ring.length) return undefined;
    const key = this.#ring[this.#head];
    this.#ring[this.#head] = undefined;
    this.#head += 1;
    if (this.#head > 1_024 && this.#head * 2 > this.#ring.length) {
      this.#ring = this.#ring.slice(this.#head);
      this.#head = 0;
    }
    if (key !== undefined) this.#states.set(key, 'processing');
    return key;
  }

  #endWaiting(): void {
    // Whoever waits found the ring empty, so nothing is left for them.
    for (const waiter of this.#waiting.splice(0)) waiter({ shutDown: true });
  }

  #settleDrain(): void {
    for (const settle of this.#drainers.splice(0)) settle();
  }
}
