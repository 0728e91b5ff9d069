import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { DriverError } from '../contract/errors.js';
import {
  answerWithinMs,
  type OperationKind,
  type Operations,
  type Pending,
} from '../contract/operations.js';

/** A resource at the provider, looked up by its identity instead of an operation. */
export type Looked<R> =
  | { readonly type: 'done'; readonly result: R }
  /** Something is under way that ends in it or stands in its way: look again. */
  | { readonly type: 'underWay' }
  | { readonly type: 'absent' };

/** How far the provider says that an operation is. */
export type OperationState =
  | { readonly type: 'running' }
  | { readonly type: 'ended' }
  | { readonly type: 'failed'; readonly error: DriverError }
  /** The provider does not know the id any more: that says nothing about the work. */
  | { readonly type: 'unknown' };

/** The calls of a provider that {@link awaitOperation} makes. Each throws {@link DriverError} only. */
export interface ProviderOperation<R> {
  /** Looks up an existing resource. It must find the result of an ended operation. */
  look(): Promise<Looked<R>>;
  /**
   * Begins the operation and gives its id. With a key that it has seen before, a provider gives the operation
   * of that key again, whatever became of it. A throw says nothing about whether it began.
   */
  start(idempotencyKey: string): Promise<string>;
  /**
   * Asks once. An answer that tells nothing, such as a refusal for want of a right, is a throw of kind
   * Timeout: what {@link look} finds done then counts; else the outcome is unknown, and the id is kept.
   */
  state(operationId: string): Promise<OperationState>;
}

/** The fields of a driver request that {@link awaitOperation} needs. */
export interface AwaitRequest {
  readonly operations: Operations;
  readonly signal: AbortSignal;
}

/** How {@link awaitOperation} waits. */
export interface AwaitOptions {
  /**
   * Operations that must have ended before this one begins, since they would undo it or are undone by it:
   * an attachment that is still on its way must not arrive after the detachment.
   */
  readonly after?: readonly OperationKind[];
  /** The poll delay of {@link Pending}; default 5,000. */
  readonly pollAfterMs?: number;
  /** Ends a wait between two looks; default real time. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<unknown>;
}

/** Waits between two looks within one call, milliseconds. */
const firstWaitMs = 50;
const longestWaitMs = 500;

/** The stored text of a kind: the idempotency key of an attempt, and its operation id once known. */
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

/** The id of the provider's operation in what {@link awaitOperation} keeps; undefined before it is known. */
export function operationIdOf(kept: string | undefined): string | undefined {
  return read(kept)?.operationId;
}

/**
 * One asynchronous operation of a provider as a driver call: made once for all that may happen between two
 * calls. The idempotency key is durable before the start and the id before the first look at it. A start whose
 * answer was lost, and an id that the provider forgot, lead to a look by identity, then to the same
 * key. Only a failure that is proven ends a key: the provider would replay it for ever.
 * @throws DriverError what the calls throw, what the operation failed with; Timeout when the signal is aborted
 */
export async function awaitOperation<R>(
  request: AwaitRequest,
  kind: OperationKind,
  operation: ProviderOperation<R>,
  options: AwaitOptions = {},
): Promise<R | Pending> {
  const { operations, signal } = request;
  const { after = [], pollAfterMs = 5_000, wait = waitUntil } = options;
  const pending: Pending = { type: 'pending', pollAfterMs };
  let waitedMs = 0;
  /** False when this call has waited long enough. */
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
      if (!result) throw unseen;
      await operations.clear(kind);
      return result.result;
    }
    if (state?.type === 'failed') {
      await operations.clear(kind);
      throw state.error;
    }
    if (state?.type !== 'running') {
      const looked = await operation.look();
      if (looked.type === 'done') {
        await operations.clear(kind);
        return looked.result;
      }
      if (state?.type === 'ended' && looked.type === 'absent') {
        await operations.clear(kind);
        throw new DriverError(
          'Internal',
          `operation ${id ?? ''} has ended, and what it was to bring about is not there; it is started again`,
        );
      }
      if (looked.type === 'absent') {
        const key = attempt?.key ?? randomUUID();
        await keep({ key, operationId: undefined });
        const begun = await operation.start(key);
        if (begun === id) {
          await operations.clear(kind);
          throw new DriverError(
            'Internal',
            `the provider does not know operation ${id}, and names it again; it is started again`,
          );
        }
        await keep({ key, operationId: begun });
      }
    }
    if (!(await waited())) return pending;
  }
}

/**
 * The result of an operation whose state the provider does not return, looked up by identity; undefined if unknown.
 * An error of this look never replaces the first one: a final one would say that the operation failed.
 */
async function doneUnseen<R>(
  operation: ProviderOperation<R>,
  unseen: unknown,
): Promise<{ readonly result: R } | undefined> {
  if (!(unseen instanceof DriverError) || unseen.kind !== 'Timeout') return undefined;
  const looked = await operation.look().catch(() => undefined);
  return looked?.type === 'done' ? { result: looked.result } : undefined;
}

/** @throws DriverError Timeout when the signal is aborted */
async function waitUntil(ms: number, signal: AbortSignal): Promise<void> {
  await pause(ms, undefined, { signal }).catch((cause: unknown) => {
    throw new DriverError('Timeout', 'gave up waiting for an operation of the provider', { cause });
  });
}
