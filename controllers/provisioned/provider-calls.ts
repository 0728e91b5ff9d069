import type { JournaledCall } from '@kedge/driver-sdk';
import type { DriverOperation } from '../volume/kind.js';

type Calls = Pick<DriverOperation, 'calls'>;

/** Time after which the calls of an operation in progress are reported again, milliseconds. */
const refreshMs = 60_000;

/** The calls of a provider as a status field; without it for none. */
export function callsReport(calls: readonly JournaledCall[] | undefined): Calls {
  if (calls === undefined || calls.length === 0) return {};
  return {
    calls: calls.map(({ at, method, path, status, requestId, durationMs, error }) => ({
      at: new Date(at).toISOString(),
      method,
      path,
      status: status ?? 0,
      requestId: requestId ?? '',
      durationMs: Math.round(durationMs),
      error: error ?? '',
    })),
  };
}

function lastOf({ calls = [] }: Calls): number {
  return Date.parse(calls.at(-1)?.at ?? '');
}

/** Whether reported calls of an operation in progress are so old that they are replaced by `now`. */
export function isOutdated(reported: Calls, now: Calls): boolean {
  return lastOf(now) - lastOf(reported) >= refreshMs;
}
