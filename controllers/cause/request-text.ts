import type { VolumeOperation as DriverOperation, VolumeProviderCall } from '@kedge/api/kinds';
import type { Subject } from '../reasons/index.js';

/** A request to a provider in one line: `2026-11-25T10:00:00.000Z GET /v2/volumes: 403 in 12 ms, request r-1`. */
export function requestText(request: Partial<VolumeProviderCall>): string {
  const { at = '', method = '', path = '', status = 0, durationMs = 0 } = request;
  const { requestId = '', error = '' } = request;
  const kind = error === '' ? '' : `, ${error}`;
  const id = requestId === '' ? '' : `, request ${requestId}`;
  return `${at} ${method} ${path}: ${status === 0 ? 'no answer' : status} in ${durationMs} ms${kind}${id}`;
}

/** The last requests to the provider about a volume or snapshot whose last call did not succeed, the oldest first. */
export function requestsOf(subject: Subject): readonly VolumeProviderCall[] {
  if (subject.kind !== 'Volume' && subject.kind !== 'Snapshot') return [];
  return subject.object.lastOperation?.calls ?? [];
}

/** Calls that the node of an instance makes, and repeats for as long as the instance needs them. */
const callsOfNode: readonly string[] = ['attach', 'mount', 'unmount', 'detach'];
/** Outcomes of a call that has not ended. */
const unended: readonly string[] = ['Started', 'Pending'];

/** The next call after the last one: its time, or the reason for which there is none. */
export function nextRetryText({
  call = '',
  outcome = '',
  nextTryAt = '',
}: Partial<Pick<DriverOperation, 'call' | 'outcome' | 'nextTryAt'>>): string {
  if (nextTryAt !== '') return nextTryAt;
  if (outcome === 'Succeeded') return 'not needed';
  if (unended.includes(outcome)) return 'not needed: the call has not ended';
  return callsOfNode.includes(call) ? 'automatic, by the node' : 'not automatic';
}
