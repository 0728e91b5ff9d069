import type { Driver } from '../contract/driver.js';
import { DriverError, type JournaledCall } from '../errors/errors.js';
import { isPending, type OperationKind, type Pending } from '../contract/operations.js';

import type { ProviderClient } from '../http/provider-client.js';

/** Minimum delay until a call is repeated, milliseconds. */
const pollMsMin = 100;
/** Maximum number of calls of the provider in an error or a Pending answer. */
const reportedCalls = 5;

/** Converts an error Throttled with a retry delay to the answer Pending. Returns undefined for other errors. */
function laterOf(thrown: unknown): Pending | undefined {
  if (!(thrown instanceof DriverError) || thrown.kind !== 'Throttled') return undefined;
  const { retryAfterMs } = thrown;
  if (retryAfterMs === undefined) return undefined;
  return { type: 'pending', pollAfterMs: Math.max(pollMsMin, Math.ceil(retryAfterMs)) };
}

/** Lets the requests of a background call leave a part of the budget to others. */
function deferred<R extends { readonly isBackground?: boolean; readonly signal: AbortSignal }>(
  request: R,
  client: Pick<ProviderClient, 'defer'>,
): R {
  if (request.isBackground !== true) return request;
  // The signal of the caller may be that of a further call.
  const signal = AbortSignal.any([request.signal]);
  client.defer(signal);
  return { ...request, signal };
}

/**
 * A driver over a provider's client. A call that the rate limit or another action delays answers Pending, so that it is
 * repeated at the time of its slot and no attempt is counted: a refusal by the rate limit is not a failure of the
 * volume. `observe` and `observeSnapshot` can't answer Pending and throw Throttled. The age of operations in progress is
 * recorded for metrics. Errors and Pending answers of the calls for a volume or snapshot have its last calls of the
 * provider.
 */
export function providerDriver(driver: Driver, client: ProviderClient): Driver {
  const recent = (uid: string): readonly JournaledCall[] =>
    client.journal.of(uid).slice(-reportedCalls);
  const withCalls = (answer: Pending, uid: string): Pending => {
    const calls = recent(uid);
    return calls.length === 0 ? answer : { ...answer, calls };
  };
  /** Adds the calls of the provider to an error. */
  const reported = async <R>(uid: string, call: () => Promise<R>): Promise<R> => {
    try {
      return await call();
    } catch (thrown) {
      throw DriverError.from(thrown).withCalls(recent(uid));
    }
  };
  const followed = async <R>(
    kind: OperationKind,
    uid: string,
    call: () => Promise<R | Pending>,
  ): Promise<R | Pending> => {
    const operation = `${kind} ${uid}`;
    try {
      const answer = await call();
      if (!isPending(answer)) {
        client.telemetry.ended(driver.name, operation);
        return answer;
      }
      client.telemetry.wentOn(driver.name, operation);
      return withCalls(answer, uid);
    } catch (thrown) {
      const later = laterOf(thrown);
      if (later) return withCalls(later, uid);
      const error = DriverError.from(thrown);
      // After a Timeout the operation may still be in progress.
      if (error.kind !== 'Timeout') client.telemetry.ended(driver.name, operation);
      throw error.withCalls(recent(uid));
    }
  };
  return {
    ...driver,
    provision: (request) =>
      followed('provision', request.volume.uid, () => driver.provision(request)),
    observe: (request) =>
      reported(request.volume.uid, () => driver.observe(deferred(request, client))),
    observeSnapshot: (request) =>
      reported(request.snapshot.uid, () => driver.observeSnapshot(deferred(request, client))),
    delete: (request) => followed('delete', request.volume.uid, () => driver.delete(request)),
    attach: (request) => followed('attach', request.volume.uid, () => driver.attach(request)),
    detach: (request) => followed('detach', request.volume.uid, () => driver.detach(request)),
    expand: (request) => followed('expand', request.volume.uid, () => driver.expand(request)),
    createSnapshot: (request) =>
      followed('createSnapshot', request.snapshot.uid, () => driver.createSnapshot(request)),
    deleteSnapshot: (request) =>
      followed('deleteSnapshot', request.snapshot.uid, () => driver.deleteSnapshot(request)),
    restore: (request) => followed('restore', request.volume.uid, () => driver.restore(request)),
    recentCalls: (uid) => client.journal.of(uid),
  };
}
