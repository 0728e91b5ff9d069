import { type Clock, keyString, messageOf, type ObjectKey, type Timer } from 'kedge';
import type { Runtime } from '../runtime/runtime.js';

/** A runtime may probe its machine less often, and promises a result by this interval. */
const probeMsMax = 30_000;

/** Dependencies of {@link RuntimeWaits}. */
export interface RuntimeWaitsOptions {
  readonly clock: Clock;
  /** Interval of probes of awaited runtimes, in milliseconds; at most 30 s are used. */
  readonly probeMs: number;
  /** Queues the key. */
  readonly wake: (key: ObjectKey) => void;
}

interface Wait {
  readonly key: ObjectKey;
  readonly runtime: Runtime;
  /** The reason why the runtime could not be used when the key was reconciled. */
  readonly message: string;
}

/** The reason why a runtime is unavailable; undefined if it is available. */
async function whyNot(runtime: Runtime): Promise<string | undefined> {
  const availability = await runtime.availability();
  return availability.available ? undefined : availability.message;
}

/**
 * Keys that wait for their runtime, which sends no notifications. Each runtime is probed once for all keys. A key is
 * queued if the result differs from the one that the key got, so that no change before or between probes is lost.
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

  /** Registers a key that got `message` from its runtime. It is queued when the result differs. */
  wait(key: ObjectKey, runtime: Runtime, message: string): void {
    this.#waits.set(keyString(key), { key, runtime, message });
    this.#timer ??= this.#scheduleProbe();
  }

  /** Removes a key that is being reconciled. */
  forget(key: ObjectKey): void {
    this.#waits.delete(keyString(key));
  }

  /** Stops all probes. */
  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#waits.clear();
  }

  #scheduleProbe(): Timer | undefined {
    if (this.#closed) return undefined;
    const { clock } = this.#options;
    const probeMs = Math.min(this.#options.probeMs, probeMsMax);
    return clock.setTimer(() => void this.#probe(), probeMs, { background: true });
  }

  async #probe(): Promise<void> {
    const runtimes = new Set([...this.#waits.values()].map(({ runtime }) => runtime));
    // A failure counts as another answer: the reconcile gets the same error and retries with backoff.
    const probe = async (runtime: Runtime) =>
      [runtime, await whyNot(runtime).catch(messageOf)] as const;
    const answers = new Map(await Promise.all([...runtimes].map(probe)));
    for (const [name, { key, runtime, message }] of [...this.#waits]) {
      if (!answers.has(runtime) || answers.get(runtime) === message) continue;
      this.#waits.delete(name);
      this.#options.wake(key);
    }
    this.#timer = this.#waits.size > 0 ? this.#scheduleProbe() : undefined;
  }
}
