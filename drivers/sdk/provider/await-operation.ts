import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { DriverError } from '../errors/errors.js';
import {
  answerWithinMs,
  operationIdOf,
  type OperationKind,
  type Operations,
  type Pending,
} from '../contract/operations.js';

/** A resource at the provider, looked up by its identity instead of an operation. */
export type Observed<R> =
  | { readonly type: 'done'; readonly result: R }
  /** An operation in progress creates or blocks it: look it up again. */
  | { readonly type: 'underWay' }
  | { readonly type: 'absent' };

/** The state of an operation as reported by the provider. */
export type OperationState =
  | { readonly type: 'running' }
  | { readonly type: 'ended' }
  | { readonly type: 'failed'; readonly error: DriverError }
  /** The provider has forgotten the id: the outcome is unknown. */
  | { readonly type: 'unknown' };

/** The calls of a provider that {@link awaitOperation} makes. Each throws {@link DriverError} only. */
export interface ProviderOperation<R> {
  /** Looks up an existing resource. It must find the result of an ended operation. */
  observe(): Promise<Observed<R>>;
  /**
   * Starts the operation and returns its id. For a known key, a provider returns the operation of that key again, also
   * if it failed. After an error the operation may have started or not.
   */
  start(idempotencyKey: string): Promise<string>;
  /**
   * Polls the state once. Throws an error of kind Timeout if the answer shows no state, for example because a right is
   * missing. The operation is then done if {@link observe} finds its result; else its outcome is unknown, and the id is
   * kept.
   */
  state(operationId: string): Promise<OperationState>;
  /**
   * The result of an operation that this call has started and that has ended. Absent: {@link observe} finds it. An
   * operation of an earlier call is always observed, because its result may have been undone since.
   */
  readonly resultOf?: () => R;
}

/** The fields of a driver request that {@link awaitOperation} needs. */
export interface AwaitRequest {
  readonly operations: Operations;
  readonly signal: AbortSignal;
}

/** Wait options of {@link awaitOperation}. */
export interface AwaitOptions {
  /**
   * Operations that must have ended before this one begins, since they would undo it or are undone by it:
   * a pending attach must not complete after the detach.
   */
  readonly after?: readonly OperationKind[];
  /** The poll delay of {@link Pending}; default 5,000. */
  readonly pollAfterMs?: number;
  /** The first wait between two polls within one call, milliseconds; default 50. It grows to the longest. */
  readonly firstWaitMs?: number;
  /** The longest wait between two polls within one call, milliseconds; default 500. */
  readonly longestWaitMs?: number;
  /** Waits between two polls; default real time. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/** An attempt of an operation, parsed from its stored text: the idempotency key, and the operation id once known. */
interface Attempt {
  readonly key: string;
  readonly operationId: string | undefined;
}

function written({ key, operationId }: Attempt): string {
  return operationId === undefined ? key : `${key} ${operationId}`;
}

function read(text: string | undefined): Attempt | undefined {
  if (text === undefined) return undefined;
  const space = text.indexOf(' ');
  if (space < 0) return { key: text, operationId: undefined };
  return { key: text.slice(0, space), operationId: text.slice(space + 1) };
}

/**
 * Runs an asynchronous operation of a provider as one driver call, and continues it after a restart. The idempotency
 * key is stored before the start, and the operation id before its first poll. If the answer of the start was lost, or
 * the provider has forgotten the id, the resource is looked up by identity; if it is absent, the operation is started
 * again with the same key. A key is cleared after success or a proven failure, because the provider would return the
 * same failure for it forever, and after the refusal of a deletion that shows that none is in progress. So is that of an
 * attach or detach whose first start is refused: otherwise the opposite call would wait for an operation that never began.
 * @throws DriverError of a call or of the failed operation; Internal if it ended without its result, or if the provider
 * forgot its id and returned it again; Timeout when the signal is aborted
 */
export async function awaitOperation<R>(
  request: AwaitRequest,
  kind: OperationKind,
  operation: ProviderOperation<R>,
  options: AwaitOptions = {},
): Promise<R | Pending> {
  const { operations, signal } = request;
  const { after = [], pollAfterMs = 5_000, wait = waitUntil } = options;
  const { firstWaitMs = 50, longestWaitMs = 500 } = options;
  const pending: Pending = { type: 'pending', pollAfterMs };
  let waitedMs = 0;
  /** False if a further wait would exceed the time limit of this call. */
  const waited = async (): Promise<boolean> => {
    const ms = Math.min(firstWaitMs + waitedMs, longestWaitMs);
    if (waitedMs + ms > answerWithinMs) return false;
    await wait(ms, signal);
    waitedMs += ms;
    return true;
  };

  for (const other of after) {
    const id = operationIdOf(await operations.get(other));
    while (id !== undefined && (await operation.state(id)).type === 'running')
      if (!(await waited())) return pending;
    await operations.clear(other);
  }

  let attempt = read(await operations.get(kind));
  let own: string | undefined;
  const keep = async (next: Attempt): Promise<void> => {
    attempt = next;
    await operations.set(kind, written(next));
  };
  for (;;) {
    const id = attempt?.operationId;
    let state: OperationState | undefined;
    try {
      state = id === undefined ? undefined : await operation.state(id);
    } catch (unseen) {
      const result = await doneUnseen(operation, unseen);
      await operations.clear(kind);
      return result.result;
    }
    if (state?.type === 'failed') {
      await operations.clear(kind);
      throw state.error;
    }
    if (state?.type === 'ended' && id === own && operation.resultOf) {
      await operations.clear(kind);
      return operation.resultOf();
    }
    if (state?.type !== 'running') {
      const observed = await operation.observe();
      if (observed.type === 'done') {
        await operations.clear(kind);
        return observed.result;
      }
      if (state?.type === 'ended' && observed.type === 'absent') {
        await operations.clear(kind);
        throw new DriverError(
          'Internal',
          `operation ${id ?? ''} has ended without its result; it is started again`,
        );
      }
      if (observed.type === 'absent') {
        const isFirst = attempt === undefined;
        const key = attempt?.key ?? randomUUID();
        await keep({ key, operationId: undefined });
        const begun = await operation.start(key).catch(async (thrown: unknown) => {
          const isDeletion = kind === 'delete' || kind === 'deleteSnapshot';
          const isFirstMove = isFirst && (kind === 'attach' || kind === 'detach');
          if ((isDeletion || isFirstMove) && isNotDeleted(thrown, isFirst))
            await operations.clear(kind);
          throw thrown;
        });
        if (begun === id) {
          await operations.clear(kind);
          throw new DriverError(
            'Internal',
            `the provider has forgotten operation ${id} but returned its id again; the operation is restarted with a new key`,
          );
        }
        await keep({ key, operationId: begun });
        own = begun;
      }
    }
    if (!(await waited())) return pending;
  }
}

/** Errors after which it is unknown whether the provider executed a request. */
const unknownStarts: readonly DriverError['kind'][] = ['Timeout', 'Unavailable', 'Internal'];

/**
 * Whether an error of a call that deletes, or of a first attach or detach, confirms that none is in progress. A recorded
 * deletion that is never permitted would never end, because a recorded operation is completed first. The result of a
 * creation without an answer can appear later, so its key is kept after a refusal.
 * @param isFirst whether no earlier call is recorded, whose outcome is unknown. The rate limit that refuses a repeated
 * call says nothing about an earlier one: providers refuse with it just because an operation of the resource is pending.
 */
export function isNotDeleted(thrown: unknown, isFirst: boolean): boolean {
  const { kind } = DriverError.from(thrown);
  return !unknownStarts.includes(kind) && (isFirst || kind !== 'Throttled');
}

/**
 * Observes the result of an operation after a poll of its state timed out.
 * @throws `unseen` if there is no result. If the observation fails, too, the message has both errors, and the kind
 * stays Timeout: a permanent error would mean that the operation failed.
 */
async function doneUnseen<R>(
  operation: ProviderOperation<R>,
  unseen: unknown,
): Promise<{ readonly result: R }> {
  if (!(unseen instanceof DriverError) || unseen.kind !== 'Timeout') throw unseen;
  let observed: Observed<R>;
  try {
    observed = await operation.observe();
  } catch (thrown) {
    const { message } = DriverError.from(thrown);
    const { operation: id, requestId } = unseen;
    throw new DriverError(
      'Timeout',
      `${unseen.message}; its result could not be observed either: ${message}`,
      {
        cause: thrown,
        ...(id === undefined ? {} : { operation: id }),
        ...(requestId === undefined ? {} : { requestId }),
      },
    );
  }
  if (observed.type !== 'done') throw unseen;
  return { result: observed.result };
}

/** Waits in real time. @throws DriverError Timeout when the signal is aborted */
async function waitUntil(ms: number, signal: AbortSignal): Promise<void> {
  await pause(ms, undefined, { signal }).catch((cause: unknown) => {
    throw new DriverError('Timeout', 'the wait for an operation of the provider was cancelled', {
      cause,
    });
  });
}
