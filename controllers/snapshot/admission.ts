import { failedPrecondition, isDeleting, notFound } from 'kedge';
import type { AdmissionRules } from 'kedge/server';
import type { DriverRegistry } from '@kedge/driver-sdk';
import { volumes } from '../volume/kind.js';
import type { Snapshot } from './kind.js';
import { maskParameters, shownHandle } from '../secret/index.js';
import { classNamed } from '../storage-class/index.js';
import { snapshotObstacle } from './in-use.js';

/** Present until nothing is left to do for the snapshot at its provider: it is deleted or kept by its reclaim policy. */
export const snapshotFinalizer = 'svc.io/snapshot';

/** Options of the rules of snapshots. */
export interface SnapshotRuleOptions {
  readonly drivers: DriverRegistry;
}

/**
 * Rules of snapshots. The source volume of a new one must exist (404) and not be in deletion, and its driver must
 * support snapshots (rule 5). One can't be deleted while a volume that is created from it is Pending; a restore in
 * progress only delays its deletion.
 */
export function snapshotRules(options: SnapshotRuleOptions): AdmissionRules<Snapshot> {
  return {
    finalizers: [snapshotFinalizer],
    async validate(context, snapshot, before) {
      // Only a new snapshot needs its source and class, which may be deleted later.
      if (before) return [];
      const key = { namespace: snapshot.namespace, name: snapshot.source.volume };
      const volume = await context.lookup(volumes, key, { status: ['driver'] });
      if (!volume) throw notFound({ kind: 'Volume', ...key });
      if (isDeleting(volume))
        throw failedPrecondition(
          'SourceDeleting',
          `volume "${key.namespace}/${key.name}" is being deleted: snapshots of it can't be created; use another volume`,
          { kind: 'Volume', ...key },
        );
      const storageClass = await classNamed(context, volume.storageClassName);
      const name = volume.driver || storageClass?.driver;
      const driver = name === undefined ? undefined : await options.drivers.get(name);
      if (driver?.capabilities().snapshots === true) return [];
      const description =
        name === undefined
          ? `volume "${key.name}" has no driver, because its storage class does not exist; create the storage class first`
          : driver === undefined
            ? `volume "${key.name}" has driver ${name}, which is not registered; start kedged with this driver first`
            : `volume "${key.name}" has driver ${name}, which does not support snapshots; copy its data in another way`;
      return [{ field: 'source.volume', description }];
    },
    async validateDelete(context, snapshot) {
      const key = `${snapshot.namespace}/${snapshot.name}`;
      const status = ['status'] as const;
      const made = await context.lookupBy(volumes, 'sourceSnapshot', key, { status });
      const obstacle = snapshotObstacle(snapshot, made);
      if (obstacle === undefined) return;
      const { namespace, name } = snapshot;
      throw failedPrecondition('InUse', obstacle, { kind: 'Snapshot', namespace, name });
    },
    present(snapshot) {
      const driverParameters = maskParameters(snapshot.driverParameters);
      return {
        ...snapshot,
        ...(driverParameters ? { driverParameters } : {}),
        ...(snapshot.handle ? { handle: shownHandle(snapshot.handle) ?? '' } : {}),
      };
    },
  };
}
