import type { Volume } from '../kind.js';
import { hasNoCredential, isRefusal, isRefused } from '../../provisioned/failure.js';

/** Outcome of a call before its end. */
export const startedOutcome = 'Started';

type Deleting = Pick<Volume, 'dataDeletion' | 'lastOperation' | 'metadata'>;

/**
 * Whether the deletion of the data was requested for this generation of the volume, so that the driver may be called.
 */
export function isDeletionAsked({
  dataDeletion,
  metadata,
}: Pick<Volume, 'dataDeletion' | 'metadata'>): boolean {
  return (dataDeletion?.askedAt ?? '') !== '' && dataDeletion?.generation === metadata.generation;
}

/** Whether the last deletion call since the request is known to have deleted nothing. */
export function isDeletionRefused({
  dataDeletion,
  lastOperation,
}: Pick<Volume, 'dataDeletion' | 'lastOperation'>): boolean {
  if (!dataDeletion || lastOperation?.call !== 'delete') return false;
  const isSince = Date.parse(lastOperation.startedAt) >= Date.parse(dataDeletion.askedAt);
  return isSince && isRefused(lastOperation);
}

/** Whether a deletion call may be in progress or completed. The policy can't be changed then. */
export function isDeletionUnderWay(volume: Deleting): boolean {
  return (volume.dataDeletion?.askedAt ?? '') !== '' && !isDeletionRefused(volume);
}

/**
 * Whether an earlier deletion call may still delete the data, regardless of the current one: its outcome is unknown,
 * for example because its process was killed. It counts as ended after the second refusal. A call without a credential is
 * no answer to an earlier one.
 */
export function isEarlierCallOpen(volume: Deleting): boolean {
  const { lastOperation } = volume;
  const isAnswered =
    lastOperation?.call === 'delete' &&
    isRefusal(lastOperation.outcome) &&
    !hasNoCredential(lastOperation);
  return isDeletionUnderWay(volume) && !isAnswered;
}

/** The start time of a call, not before the deletion request: the clocks of nodes differ. */
export function startOfDeletion(
  { dataDeletion }: Pick<Volume, 'dataDeletion'>,
  now: string,
): string {
  const askedAt = dataDeletion?.askedAt ?? '';
  return askedAt !== '' && Date.parse(askedAt) > Date.parse(now) ? askedAt : now;
}

/** A time before the deletion request. The outcome of a call with this time is irrelevant for the request. */
export function beforeDeletion({ dataDeletion }: Pick<Volume, 'dataDeletion'>): string {
  return new Date(Date.parse(dataDeletion?.askedAt ?? '') - 1).toISOString();
}

/**
 * A deletion request for this generation of the volume. While a call may be in progress, it keeps its time. Otherwise
 * its time is after the last call, so that the outcome of that call is irrelevant.
 */
export function deletionOf(volume: Deleting, now: string): Pick<Volume, 'dataDeletion'> {
  const { dataDeletion, lastOperation, metadata } = volume;
  const { generation } = metadata;
  if (dataDeletion && isDeletionUnderWay(volume))
    return { dataDeletion: { askedAt: dataDeletion.askedAt, generation } };
  const last = Date.parse((lastOperation?.call === 'delete' && lastOperation.startedAt) || '');
  const after = Number.isNaN(last) ? 0 : last + 1;
  const askedAt = new Date(Math.max(Date.parse(now), after)).toISOString();
  return { dataDeletion: { askedAt, generation } };
}

/** No deletion is requested. */
export const noDeletion: Pick<Volume, 'dataDeletion'> = {
  dataDeletion: { askedAt: '', generation: 0 },
};
