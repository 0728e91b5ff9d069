import type { CallContext, VolumeIdentity } from '../contract/driver.js';
import {
  answerWithinMs,
  isPending,
  type OperationKind,
  type Operations,
  type Pending,
} from '../contract/operations.js';
import { KeyedQueue } from '../turns/keyed-queue.js';
import { awaitOperation, operationIdOf, type ProviderOperation } from './await-operation.js';
import { RunningOperations } from './running-operations.js';
import { pauseOn, type ProviderClock } from '../http/provider-clock.js';

const gibibyte = 1024n ** 3n;

/** Converts bytes to GiB, rounded up to a whole number of at least `min`. */
export function gibOf(bytes: bigint, min = 1): number {
  return Math.max(min, Number((bytes + gibibyte - 1n) / gibibyte));
}

/** Converts GiB to bytes. */
export function bytesOf(gib: number): bigint {
  return BigInt(gib) * gibibyte;
}

/** The calls of this process for volumes and snapshots of cloud providers, by driver and uid. */
const turns = new KeyedQueue();

/**
 * Runs work after the earlier work of this process for the same volume or snapshot. Work for other objects does not
 * wait.
 */
export function inOrder<T>(
  driver: string,
  { uid }: Pick<VolumeIdentity, 'uid'>,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  return turns.run(`${driver} ${uid}`, work, signal);
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
