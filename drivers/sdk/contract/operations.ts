import type { JournaledCall } from '../errors/errors.js';

/** Driver calls that a provider may continue after its answer. */
export const operationKinds = [
  'provision',
  'restore',
  'delete',
  'attach',
  'detach',
  'expand',
  'createSnapshot',
  'deleteSnapshot',
] as const;

/** See {@link operationKinds}. */
export type OperationKind = (typeof operationKinds)[number];

/**
 * Ids of running operations at the provider, for the volume or snapshot of a call. A driver stores an id as soon as
 * it receives it, reads it at the beginning of the same call, and clears it when the operation has ended, regardless
 * of its result. Ids survive a restart and are passed to the next call.
 */
export interface Operations {
  /** The stored id; undefined if there is none. */
  get(kind: OperationKind): Promise<string | undefined>;
  /** Resolves once the id is durable. */
  set(kind: OperationKind, id: string): Promise<void>;
  /** Removes the stored text of an operation. No-op if there is none. */
  clear(kind: OperationKind): Promise<void>;
}

/**
 * The provider continues: repeat the call after `pollAfterMs` (100 or more). Not an error, and not counted as an
 * attempt. A call returns it instead of waiting longer than {@link answerWithinMs}.
 */
export interface Pending {
  readonly type: 'pending';
  readonly pollAfterMs: number;
  /** As the calls of a DriverError. */
  readonly calls?: readonly JournaledCall[];
}

/** Milliseconds that a driver call may wait for its provider to finish. */
export const answerWithinMs = 2_000;

/**
 * Returns the id of the provider's operation from the stored text of an attempt, which is an idempotency key, a blank and
 * the id; undefined before the id is known.
 */
export function operationIdOf(kept: string | undefined): string | undefined {
  const space = kept?.indexOf(' ') ?? -1;
  return space < 0 ? undefined : kept?.slice(space + 1);
}

/** Operations in memory, for tests and programs without persistent state. */
export function memoryOperations(): Operations {
  const ids = new Map<OperationKind, string>();
  return {
    get: (kind) => Promise.resolve(ids.get(kind)),
    set: (kind, id) => {
      ids.set(kind, id);
      return Promise.resolve();
    },
    clear: (kind) => {
      ids.delete(kind);
      return Promise.resolve();
    },
  };
}

/** Whether a call returned Pending. */
export function isPending(answer: unknown): answer is Pending {
  return (
    typeof answer === 'object' && answer !== null && 'type' in answer && answer.type === 'pending'
  );
}

/**
 * Repeats a call until it is complete, for callers that may wait: programs, tests, a node with a queue per volume.
 * @param wait resolves after the given milliseconds; its rejection ends the wait, not the operation
 */
export async function untilOver<T>(
  call: () => Promise<T | Pending>,
  wait: (ms: number) => Promise<void>,
): Promise<T> {
  for (;;) {
    const answer = await call();
    if (!isPending(answer)) return answer;
    await wait(answer.pollAfterMs);
  }
}

/** A call that may leave the requests of its provider to other calls. */
export interface Deferrable {
  /** Whether other calls come first, such as before a periodic probe. Default: no. */
  readonly isBackground?: boolean;
}
