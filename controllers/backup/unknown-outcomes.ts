import type { BackedUpObject } from 'kedge';
import { type Volume, volumes } from '../volume/kind.js';

const unprovisioned: ReadonlySet<string> = new Set(['Provisioning', 'Failed', 'Released']);

/**
 * Converts an object of a backup for the store that continues as its cluster. A volume without a handle, for which a
 * driver may have been called, becomes Stalled: it may have been provisioned and used after the backup. The volume
 * controller deletes what attempts leave behind, but first observes the provider for a Stalled volume and keeps what it
 * finds.
 */
export function withUnknownOutcomes(content: BackedUpObject): readonly BackedUpObject[] {
  const { kind, object } = content;
  if (kind !== volumes.kind) return [content];
  const { status = 'Pending', driver = '', handle = '' } = object as Volume;
  if (driver === '' || handle !== '' || !unprovisioned.has(status)) return [content];
  const failureMessage =
    'restored from a backup: its provider is asked whether the volume was provisioned after the backup';
  const stalled: Pick<Volume, 'status' | 'failureMessage' | 'neverUsed'> = {
    ...{ status: 'Stalled', failureMessage },
    // It may have been used: its policy applies also if it is deleted before its outcome is known.
    neverUsed: false,
  };
  return [{ kind, object: { ...object, ...stalled } }];
}
