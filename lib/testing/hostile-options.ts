import type { Random } from '../base/index.js';

/** What happens at a call. */
export type Fault =
  /** The call fails and has done nothing. */
  | { readonly type: 'error'; readonly code: 'EIO' | 'ENOSPC' | 'EMFILE' }
  /** The call fails although it has done its work. */
  | { readonly type: 'errorAfter'; readonly code: 'EIO' | 'ENOSPC' }
  /** The machine loses power: this call and all later ones fail until `restart`. */
  | { readonly type: 'powerLoss' };

/** Options of {@link HostileFileSystem}. */
export interface HostileOptions {
  /** Decides what survives a power loss; default seed 1. */
  readonly random?: Random;
  /** Bytes of file content that fit; beyond, writes fail with ENOSPC. Default: no limit. */
  readonly capacityBytes?: number;
  /**
   * Whether a power loss may take any of the name changes that were not synced (`any`, strict POSIX),
   * or only the last ones (`last`, as file systems with an ordered journal do). Default `any`.
   */
  readonly names?: 'any' | 'last';
}
