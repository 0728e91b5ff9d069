import { type Clock, findCondition } from 'kedge';
import type { Instance } from '../../instance/kind.js';
import { minReadySecondsDefault } from '../../service/kind.js';
import type { WorkloadState } from '../runtime/runtime.js';
import { restartsOf } from './restart.js';

type Running = Extract<WorkloadState, { state: 'running' }>;

/** Tracks minReadySeconds of runs. */
export class ReadyDelay {
  readonly #clock: Clock;
  /**
   * Monotonic time of the first observation of each run that is not ready, by instance uid. The wall clock may be set
   * back.
   */
  readonly #seen = new Map<string, { readonly run: number; readonly atMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds until the instance is ready; 0 if it is. A ready instance stays ready until its run ends. */
  leftMs(instance: Instance, { run, startedAt }: Running): number {
    const { metadata, conditions, restartCount, backoff, minReadySeconds } = instance;
    const { uid } = metadata;
    const minMs = (minReadySeconds ?? minReadySecondsDefault) * 1_000;
    const isReady = findCondition(conditions, 'Ready')?.status === 'True';
    const isSame = restartCount === restartsOf({ run }, backoff);
    const left = isReady && isSame ? 0 : this.#left(uid, { run, startedAt }, minMs);
    if (left === 0) this.#seen.delete(uid);
    return left;
  }

  /** Forgets a removed instance. */
  forget(uid: string): void {
    this.#seen.delete(uid);
  }

  #left(
    uid: string,
    { run, startedAt }: Pick<Running, 'run' | 'startedAt'>,
    minMs: number,
  ): number {
    const nowMs = this.#clock.monotonic();
    const before = this.#seen.get(uid);
    const seen = before?.run === run ? before : { run, atMs: nowMs };
    this.#seen.set(uid, seen);
    const byStart = startedAt + minMs - this.#clock.now();
    const bySight = seen.atMs + minMs - nowMs;
    return Math.max(0, Math.min(byStart, bySight));
  }
}
