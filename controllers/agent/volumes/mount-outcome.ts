import type { ObjectKey } from 'kedge';
import type { InstanceMount } from '../../instance/kind.js';
import type { Volume } from '../../volume/kind.js';
import type { Reason } from '../../reasons/index.js';
import { volumeMissing } from '../../messages/storage.js';

/** Whether a volume can be used by an instance now. */
export type MountOutcome =
  | {
      readonly type: 'mounted';
      /** The mount for the status of the instance, without secrets. */
      readonly mount: InstanceMount;
      /** Directory on this node. */
      readonly source: string;
      /** Directory relative to the source, resolved by the runtime at the mount. Absent or empty: the source itself. */
      readonly subPath?: string;
    }
  | {
      readonly type: 'waiting';
      readonly reason: Reason;
      readonly message: string;
      /** A driver call failed: retry with backoff. Otherwise a change queues the key. */
      readonly retry: boolean;
    };

/** The outcome while a volume is attached and mounted. */
export function attaching(
  label: string,
  { snapshotsInFlight = [] }: Pick<Volume, 'snapshotsInFlight'>,
): MountOutcome {
  // A driver that copies an image blocks writes to it meanwhile.
  const isCopied = snapshotsInFlight.length > 0;
  const also = isCopied ? '; this may wait for a snapshot that is being created' : '';
  return waiting('Attaching', `${label} is being attached and mounted${also}`);
}

/**
 * The outcome for a volume that does not exist.
 * @param when whether it is awaited, or was deleted
 */
export function volumeAbsent(
  { namespace, name }: Required<ObjectKey>,
  when: 'yet' | 'any more',
): MountOutcome {
  const missing = volumeMissing.format({ volume: `${namespace}/${name}` });
  return waiting('VolumeNotReady', `${missing} ${when}`);
}

/** Creates the outcome for a volume that can't be used yet. */
export function waiting(reason: Reason, message: string, retry = false): MountOutcome {
  return { type: 'waiting', reason, message, retry };
}
