import type { VolumeProviderCall } from '@kedge/api/kinds';
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
