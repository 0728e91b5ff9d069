import { type Clock, keyString, messageOf, type ObjectKey, type Timer } from 'kedge';
import type { Runtime } from '../runtime/runtime.js';

/** Ports of {@link RuntimeWaits}. */
export interface RuntimeWaitsOptions {
  readonly clock: Clock;
  /** Milliseconds between two looks at the runtimes that are waited for. */
  readonly probeMs: number;
  /** Has the key reconciled. */
  readonly wake: (key: ObjectKey) => void;
}

interface Wait {
  readonly key: ObjectKey;
  readonly runtime: Runtime;
  /** Why the runtime could not be used when the key was reconciled. */
  readonly message: string;
}

/** Why a runtime can't be used; undefined: it can. */
async function whyNot(runtime: Runtime): Promise<string | undefined> {
  const availability = await runtime.availability();
  return availability.available ? undefined : availability.message;
}

/**
 * Keys that wait until their runtime can be used, of which nothing tells. Each runtime is asked once for all of
 * them, and a key is woken when the answer is another one than it was told. A look compares with the present answer,
 * so a change that comes between two looks, or before a key begins to wait, is not lost.
 */
export class RuntimeWaits {
  readonly #options: RuntimeWaitsOptions;
  readonly #waits = new Map<string, Wait>();
  /** Of the next look, or of the one under way; there is one while keys wait. */
  #timer: Timer | undefined;
  #closed = false;

  constructor(options: RuntimeWaitsOptions) {
    this.#options = options;
  }

  /** The key was told `message`, and is woken once that is not the answer of the runtime any more. */
  wait(key: ObjectKey, runtime: Runtime, message: string): void {
    this.#waits.set(keyString(key), { key, runtime, message });
    this.#timer ??= this.#nextLook();
  }

  /** The key is reconciled, so it waits for nothing until it says so again. */
  forget(key: ObjectKey): void {
    this.#waits.delete(keyString(key));
  }

  /** Looks at nothing and wakes nobody from now on. */
  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#waits.clear();
  }

  #nextLook(): Timer | undefined {
    if (this.#closed) return undefined;
    const { clock, probeMs } = this.#options;
    return clock.setTimer(() => void this.#look(), probeMs, { background: true });
  }

  async #look(): Promise<void> {
    const runtimes = new Set([...this.#waits.values()].map(({ runtime }) => runtime));
    // A failure is another answer: the reconcile that it wakes meets it, and is tried again after a backoff.
    const look = async (runtime: Runtime) =>
      [runtime, await whyNot(runtime).catch(messageOf)] as const;
    const answers = new Map(await Promise.all([...runtimes].map(look)));
    for (const [name, { key, runtime, message }] of [...this.#waits]) {
      if (!answers.has(runtime) || answers.get(runtime) === message) continue;
      this.#waits.delete(name);
      this.#options.wake(key);
    }
    this.#timer = this.#waits.size > 0 ? this.#nextLook() : undefined;
  }
}
