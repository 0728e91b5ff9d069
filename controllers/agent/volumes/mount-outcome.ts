import type { InstanceMount } from '../../instance/kind.js';
import type { Reason } from '../../reasons/index.js';

/** Whether a volume can be used by an instance now. */
export type MountOutcome =
  | {
      readonly type: 'mounted';
      /** As it may be told. */
      readonly mount: InstanceMount;
      /** Directory on this node. */
      readonly source: string;
      /** Directory inside it that is still to be found when it is mounted. */
      readonly subPath?: string;
    }
  | {
      readonly type: 'waiting';
      readonly reason: Reason;
      readonly message: string;
      /** A driver call failed: try again with backoff. Else a change wakes us. */
      readonly retry: boolean;
    };

/** A volume that can't be used yet, and why. */
export function waiting(reason: Reason, message: string, retry = false): MountOutcome {
  return { type: 'waiting', reason, message, retry };
}
