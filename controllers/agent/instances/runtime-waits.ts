import { type Clock, keyString, messageOf, type ObjectKey, type Timer } from 'kedge';
import type { Runtime } from '../runtime/runtime.js';

/** Dependencies of {@link RuntimeWaits}. */
export interface RuntimeWaitsOptions {
  readonly clock: Clock;
  /** Interval of probes of awaited runtimes, in milliseconds. */
  readonly probeMs: number;
  /** Has the key reconciled. */
  readonly wake: (key: ObjectKey) => void;
}

interface Wait {
  readonly key: ObjectKey;
  readonly runtime: Runtime;
  /** The reason why the runtime could not be used when the key was reconciled. */
  readonly message: string;
}

/** The reason why a runtime can't be used; undefined: it can. */
async function whyNot(runtime: Runtime): Promise<string | undefined> {
  const availability = await runtime.availability();
  return availability.available ? undefined : availability.message;
}

/**
 * Keys that wait for their runtime, which sends no notification. Each runtime is probed once for all keys, and a
 * key is queued when the answer changed. A probe compares with the present answer, so that a change between two
 * probes, or before a key starts to wait, is not lost.
 */
export class RuntimeWaits {
  readonly #options: RuntimeWaitsOptions;
  readonly #waits = new Map<string, Wait>();
  /** Timer of the next probe, or of the one in progress; set while keys wait. */
  #timer: Timer | undefined;
  #closed = false;

  constructor(options: RuntimeWaitsOptions) {
    this.#options = options;
  }

  /** The key got `message`, and is queued when the runtime's answer differs. */
  wait(key: ObjectKey, runtime: Runtime, message: string): void {
    this.#waits.set(keyString(key), { key, runtime, message });
    this.#timer ??= this.#nextLook();
  }

  /** The key is being reconciled and no longer waits. */
  forget(key: ObjectKey): void {
    this.#waits.delete(keyString(key));
  }

  /** Stops all probes. */
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
    // A failure counts as another answer: the reconcile gets the same error and retries with backoff.
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
