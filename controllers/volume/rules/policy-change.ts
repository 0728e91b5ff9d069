import { failedPrecondition } from 'kedge';
import type { Volume } from '../kind.js';
import { isDeletionUnderWay } from '../states/deletion-report.js';

/**
 * Rejects a policy change while the driver may be deleting the data.
 * @throws StatusError FailedPrecondition (DataDeletionBegun)
 */
export function requirePolicyOpen(object: Volume, before: Volume): void {
  const policy = before.reclaimPolicy ?? before.effectiveReclaimPolicy;
  const wanted = object.reclaimPolicy ?? before.effectiveReclaimPolicy;
  if (wanted === policy || !isDeletionUnderWay(before)) return;
  const { namespace, name, dataDeletion, lastOperation } = before;
  const failed = lastOperation?.call === 'delete' && lastOperation.message;
  const why = failed ? ` (${lastOperation.outcome}: ${failed})` : '';
  const at = dataDeletion?.askedAt ? ` at ${dataDeletion.askedAt}` : '';
  throw failedPrecondition(
    'DataDeletionBegun',
    `the deletion of the data of volume "${namespace}/${name}" was requested${at}${why}: its reclaimPolicy can be changed again once its driver reports that the data was not deleted; if its end can never be read, this names the command that removes the object: kedge why volume/${name} -n ${namespace}`,
    { kind: 'Volume', namespace, name },
  );
}
