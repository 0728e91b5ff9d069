import type { Random } from '../base/index.js';

/** The fault that is set for one call, or for this call and the later ones. */
export type Fault =
  /** The call fails without an effect. */
  | { readonly type: 'error'; readonly code: 'EIO' | 'ENOSPC' | 'EMFILE' }
  /** The call fails although it was executed. */
  | { readonly type: 'errorAfter'; readonly code: 'EIO' | 'ENOSPC' }
  /** The machine loses power: this call and all later ones fail until `restart`. */
  | { readonly type: 'powerLoss' };

/** Options of {@link HostileFileSystem}. */
export interface HostileOptions {
  /** Random source that decides what survives a power loss; default seed 1. */
  readonly random?: Random;
  /** Capacity for file content in bytes; writes beyond it fail with ENOSPC. Default: no limit. */
  readonly capacityBytes?: number;
  /**
   * Which unsynced name changes a power loss may discard: any of them (`any`, strict POSIX), or only the last
   * ones (`last`, as file systems with an ordered journal do). Default `any`.
   */
  readonly names?: 'any' | 'last';
}
