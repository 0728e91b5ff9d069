import { type Controller, keyString, newController } from 'kedge';
import { secrets, snapshots, storageClasses, volumes } from '../kinds/index.js';
import { backoffOf } from '../policy.js';
import { controllerName, keyOfSnapshot, type SnapshotControllerOptions } from './effects.js';
import { SnapshotReconciler } from './reconciler.js';

/** The snapshot controller: making, retrying and deleting; woken by snapshots, their sources and secrets. */
export function snapshotController(options: SnapshotControllerOptions): Controller {
  const { manager } = options;
  const reconciler = new SnapshotReconciler(options);
  const informer = manager.informer(snapshots);
  const { lister } = informer;
  const failed = () => lister.list().filter((snapshot) => snapshot.status === 'Failed');
  // The caches that a run looks at must have synced before it.
  manager.informer(storageClasses);
  return newController({
    ...manager.ports,
    name: controllerName,
    store: options.store,
    reconcile: (context) => reconciler.reconcile(context),
    concurrency: 8,
    // A copy takes its time.
    timeoutMs: options.policy.snapshotTimeoutMs,
    backoff: backoffOf(options.policy, 'driver'),
  })
    .for(informer)
    .watches(
      manager.informer(volumes),
      (volume) => lister.byIndex('sourceVolume', keyString(volume)).map(keyOfSnapshot),
      (before, volume) =>
        before.status !== volume.status ||
        before.handle !== volume.handle ||
        before.snapshotsInFlight !== volume.snapshotsInFlight,
    )
    .watches(manager.informer(secrets), () => failed().map(keyOfSnapshot));
}
