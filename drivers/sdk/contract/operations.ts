/** Calls of a driver that a provider may go on with after it has answered. */
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
 * Ids of operations under way at the provider, of the object that a call makes or changes: of the volume, and in
 * the calls of snapshots of the snapshot. A driver stores the id as soon as the provider has given it, before it
 * waits for anything, looks for it at the begin of the same call, and clears it when the operation has ended,
 * however it did. They survive a restart, and the next call gets them.
 */
export interface Operations {
  /** The id that was set; undefined when there is none. */
  get(kind: OperationKind): Promise<string | undefined>;
  /** Resolves once the id is durable. */
  set(kind: OperationKind, id: string): Promise<void>;
  /** No-op when there is none. */
  clear(kind: OperationKind): Promise<void>;
}

/**
 * The provider goes on: make the same call again after `pollAfterMs` (100 or more). Not an error: no
 * attempt is counted. A call answers it instead of waiting longer than {@link answerWithinMs}.
 */
export interface Pending {
  readonly type: 'pending';
  readonly pollAfterMs: number;
}

/** Milliseconds that a driver call may wait for its provider to finish. */
export const answerWithinMs = 2_000;

/** Operations of one process's life, for tests and programs that keep nothing. */
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
 * @param wait resolves after so many milliseconds; its rejection ends the waiting, not the operation
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
