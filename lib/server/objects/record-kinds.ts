import { effectRecords, effectViolations, reconcileRecords } from '../../controller/index.js';
import { leases } from '../../election/index.js';
import { serve, type ServedKind } from '../api/served-kind.js';

/**
 * The kinds of records that controllers and elections store. They are served only to stores in other processes, under
 * rights of their own (`leases`, `reconcilerecords`, `effectrecords`).
 */
export const recordKinds: readonly ServedKind[] = [
  serve(leases, 'kedge.Lease'),
  serve(reconcileRecords, 'kedge.ReconcileRecord'),
  serve(effectRecords, 'kedge.EffectRecord', {
    validate: (_context, record) => Promise.resolve(effectViolations(record)),
  }),
];
