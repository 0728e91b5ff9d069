import type { CallContext, DeleteRequest, VolumeIdentity } from '../contract/driver.js';
import {
  answerWithinMs,
  isPending,
  operationIdOf,
  type OperationKind,
  type Operations,
  type Pending,
} from '../contract/operations.js';
import { KeyedQueue } from '../turns/keyed-queue.js';
import { awaitOperation, isNotDeleted, type ProviderOperation } from './await-operation.js';
import { RunningOperations } from './running-operations.js';
import { machineClock, pauseOn, type ProviderClock } from '../http/provider-clock.js';

const gibibyte = 1024n ** 3n;

/** Converts bytes to GiB, rounded up to a whole number of at least `min`. */
export function gibOf(bytes: bigint, min = 1): number {
  return Math.max(min, Number((bytes + gibibyte - 1n) / gibibyte));
}

/** Converts GiB to bytes. */
export function bytesOf(gib: number): bigint {
  return BigInt(gib) * gibibyte;
}

/**
 * The calls of this process for volumes and snapshots of cloud providers, by driver and uid. Tests with separate clocks
 * share none, so that several processes can be tested in one.
 */
const turns = new WeakMap<ProviderClock, KeyedQueue>();

function turnsOn(clock: ProviderClock): KeyedQueue {
  const known = turns.get(clock) ?? new KeyedQueue();
  turns.set(clock, known);
  return known;
}

/** A driver whose calls for one object run one after the other, and its clock. */
export interface CallOrder {
  readonly driver: string;
  readonly clock: ProviderClock;
}

/**
 * Runs work after the earlier work of this process for the same volume or snapshot. Work for other objects does not
 * wait.
 * @param of the driver; with the clock of its calls, unless that is the machine's
 */
export function inOrder<T>(
  of: string | CallOrder,
  { uid }: Pick<VolumeIdentity, 'uid'>,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const { driver, clock } = typeof of === 'string' ? { driver: of, clock: machineClock } : of;
  return turnsOn(clock).run(`${driver} ${uid}`, work, signal);
}

/**
 * Deletes a resource that the driver found. The deletion of a resource that was found by its name is recorded first.
 * The store refuses the record of a process that no longer leads, so such a process does not delete a resource that its
 * successor created under the same name. The record stays until it is known that the deletion was not executed, or
 * until {@link endDeletion}.
 */
export async function deleteFound(
  { operations, handle }: Pick<DeleteRequest, 'operations' | 'handle'>,
  id: string,
  remove: () => Promise<void>,
): Promise<void> {
  if (handle !== undefined) return remove();
  const isFirst = (await operations.get('delete')) === undefined;
  await operations.set('delete', id);
  try {
    await remove();
  } catch (thrown) {
    if (isNotDeleted(thrown, isFirst)) await endDeletion(operations);
    throw thrown;
  }
}

/** Removes the record of a deletion, if there is one. */
export async function endDeletion(operations: Operations): Promise<void> {
  if ((await operations.get('delete')) !== undefined) await operations.clear('delete');
}

/** Operations of a volume that must have ended before one of the given kind begins. */
const follows: Readonly<Partial<Record<OperationKind, readonly OperationKind[]>>> = {
  delete: ['attach', 'detach', 'expand'],
  attach: ['detach'],
  detach: ['attach'],
};

/** The wait between two polls of an operation within the call that starts it, milliseconds. */
const waitMs = 1_000;

/** The running operations by clock, so that tests with separate clocks share none. */
const running = new WeakMap<ProviderClock, RunningOperations>();

function runningOn(clock: ProviderClock): RunningOperations {
  const known = running.get(clock) ?? new RunningOperations(clock);
  running.set(clock, known);
  return known;
}

/**
 * Runs {@link awaitOperation} with few polls, because each uses a request of the budget: one a second while the call
 * that starts the operation may wait, then one a call, with growing delays. Once a minute, `observe`
 * checks whether the result of a running operation exists, because providers' records may stay in progress after the work.
 */
export async function carryOut<R>(
  clock: ProviderClock,
  { operations, signal }: Pick<CallContext, 'signal'> & { readonly operations: Operations },
  kind: OperationKind,
  operation: ProviderOperation<R>,
): Promise<R | Pending> {
  const state: ProviderOperation<R>['state'] = async (id) => {
    const found = await operation.state(id);
    // The result says nothing about an operation that this one follows.
    const isOwn = operationIdOf(await operations.get(kind)) === id;
    if (!isOwn || !runningOn(clock).isObservationDue(`${kind} ${id}`, found.type === 'running'))
      return found;
    // The answer of the poll stands. The Pending answer has the failed request among its calls.
    const observed = await operation.observe().catch(() => undefined);
    return observed?.type === 'done' ? { type: 'ended' } : found;
  };
  const watched: ProviderOperation<R> = {
    observe: () => operation.observe(),
    start: (key) => operation.start(key),
    state,
    ...(operation.resultOf ? { resultOf: operation.resultOf } : {}),
  };
  const isResumed = operationIdOf(await operations.get(kind)) !== undefined;
  const stepMs = isResumed ? answerWithinMs + 1 : waitMs;
  const answer = await awaitOperation({ operations, signal }, kind, watched, {
    after: follows[kind] ?? [],
    firstWaitMs: stepMs,
    longestWaitMs: stepMs,
    wait: (ms, cancelled) => pauseOn(clock, ms, cancelled),
  });
  if (!isPending(answer)) return answer;
  const id = operationIdOf(await operations.get(kind)) ?? '';
  return { ...answer, pollAfterMs: runningOn(clock).pollAfterMs(`${kind} ${id}`) };
}
