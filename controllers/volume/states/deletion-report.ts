import type { Volume } from '../kind.js';
import { isRefusal } from '../../provisioned/failure.js';

/** Outcome of a call that is about to be made. */
export const startedOutcome = 'Started';

type Deleting = Pick<Volume, 'dataDeletion' | 'lastOperation' | 'metadata'>;

/** Whether it was decided, for the volume as it is, that its data goes: then its driver may be called. */
export function isDeletionAsked({
  dataDeletion,
  metadata,
}: Pick<Volume, 'dataDeletion' | 'metadata'>): boolean {
  return (dataDeletion?.askedAt ?? '') !== '' && dataDeletion?.generation === metadata.generation;
}

/** Whether the last call since the request of the deletion certainly deleted nothing. */
export function isDeletionRefused({
  dataDeletion,
  lastOperation,
}: Pick<Volume, 'dataDeletion' | 'lastOperation'>): boolean {
  if (!dataDeletion || lastOperation?.call !== 'delete') return false;
  const isSince = Date.parse(lastOperation.startedAt) >= Date.parse(dataDeletion.askedAt);
  return isSince && isRefusal(lastOperation.outcome);
}

/** Whether a call that deletes the data may be under way, or have been made: the policy decides nothing any more. */
export function isDeletionUnderWay(volume: Deleting): boolean {
  return (volume.dataDeletion?.askedAt ?? '') !== '' && !isDeletionRefused(volume);
}

/**
 * Whether a call of an earlier run may still delete the data, whatever a call of now says of itself: its outcome is
 * not known, maybe because its process was killed. One refusal since leaves that open, a second does not.
 */
export function isEarlierCallOpen(volume: Deleting): boolean {
  const { lastOperation } = volume;
  const isAnswered = lastOperation?.call === 'delete' && isRefusal(lastOperation.outcome);
  return isDeletionUnderWay(volume) && !isAnswered;
}

/** When a call begins, by a clock that may be behind the one that the deletion was asked for by. */
export function startOfDeletion(
  { dataDeletion }: Pick<Volume, 'dataDeletion'>,
  now: string,
): string {
  const askedAt = dataDeletion?.askedAt ?? '';
  return askedAt !== '' && Date.parse(askedAt) > Date.parse(now) ? askedAt : now;
}

/** A time before the deletion was asked for: the outcome of a call of then says nothing of the deletion. */
export function beforeDeletion({ dataDeletion }: Pick<Volume, 'dataDeletion'>): string {
  return new Date(Date.parse(dataDeletion?.askedAt ?? '') - 1).toISOString();
}

/**
 * The decision that the data of a volume goes, for the volume as it is. One that is renewed while a call may be under
 * way is of the same time; another one is of after the last call, whose outcome says nothing of it.
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

/** No call of the driver is requested. */
export const noDeletion: Pick<Volume, 'dataDeletion'> = {
  dataDeletion: { askedAt: '', generation: 0 },
};
