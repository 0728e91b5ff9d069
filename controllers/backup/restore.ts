import {
  type ReplaceableEngine,
  restoreBackup,
  type RestoreOptions,
  type RestoreReport,
  verifyBackup,
} from 'kedge';
import { asCopy } from './copied-objects.js';
import { type KeysAtHand, SealedCheck } from './sealed-check.js';
import { withUnknownOutcomes } from './unknown-outcomes.js';

/** Options of a restore of a cluster's data. */
export interface DataRestoreOptions {
  readonly path: string;
  readonly engine: ReplaceableEngine;
  readonly keys: KeysAtHand;
  /**
   * `original`: the restored store continues as the cluster of the backup. The outcome of provisioning that was not
   * known in the backup is observed at the provider. `copy`: it becomes a separate cluster, in
   * which every volume and snapshot of the backup is foreign.
   */
  readonly as: 'original' | 'copy';
  /** Replaces an existing store, which is kept in another directory. */
  readonly replace: boolean;
  /** See {@link RestoreOptions.afterRevision}. */
  readonly afterRevision?: number | undefined;
  /** Called after the backup was read completely and its values were opened, before any change. */
  readonly beforeWriting?: () => Promise<void>;
}

/**
 * Restores a backup atomically, after it opened every sealed value.
 * @throws StatusError as {@link restoreBackup}, and FailedPrecondition (KeyMissing, KeyMismatch)
 */
export async function restoreData(options: DataRestoreOptions): Promise<RestoreReport> {
  const { path, engine, keys, replace } = options;
  const check = new SealedCheck(path, keys);
  const original = await verifyBackup(path, (content) => check.require(content));
  await options.beforeWriting?.();
  const copy: RestoreOptions = {
    cluster: 'new',
    rewrite: (content) => asCopy(content, original),
  };
  const { afterRevision } = options;
  const after = afterRevision === undefined ? {} : { afterRevision };
  const continued: RestoreOptions = { rewrite: withUnknownOutcomes };
  return restoreBackup(path, engine, {
    replace,
    ...after,
    ...(options.as === 'copy' ? copy : continued),
  });
}
