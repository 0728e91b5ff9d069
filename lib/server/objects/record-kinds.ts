import { effectRecords, effectViolations, reconcileRecords } from '../../controller/index.js';
import { leases } from '../../election/index.js';
import { serve, type ServedKind } from '../api/served-kind.js';

/**
 * What controllers and elections keep beside the objects of an API: served to stores in other processes
 * only, under rights of their own (`leases`, `reconcilerecords`,
 * `effectrecords`).
 */
export const recordKinds: readonly ServedKind[] = [
  serve(leases, 'kedge.Lease'),
  serve(reconcileRecords, 'kedge.ReconcileRecord'),
  serve(effectRecords, 'kedge.EffectRecord', {
    validate: (_context, record) => Promise.resolve(effectViolations(record)),
  }),
];
