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

/** Whether the last call since the deletion was asked for is one that certainly deleted nothing. */
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
