import { type Controller, jsonEqual, keyString, newController, type SharedInformer } from 'kedge';
import { reportingRefusals } from '../../event/reconcile-refusals.js';
import { nodes } from '../../node/kind.js';
import { secrets } from '../../secret/kind.js';
import { storageClasses } from '../../storage-class/kind.js';
import { volumes } from '../../volume/kind.js';
import { type Snapshot, snapshots } from '../kind.js';
import { GoneNodes } from '../../node/gone-nodes.js';
import { backoffOf } from '../../policy/policy.js';
import { nodesOf } from '../../provisioned/owner.js';
import { controllerName, keyOfSnapshot, type SnapshotControllerOptions } from './effects.js';
import { SnapshotReconciler } from './reconciler.js';

/** Concurrent reconciles: of all snapshots, and of those of one class. */
const workers = { all: 512, perClass: 8 };

/**
 * The snapshot controller: creation, retries and deletion; it watches snapshots, their sources and classes; in the
 * cluster's part also secrets and nodes.
 */
export function snapshotController(options: SnapshotControllerOptions): Controller {
  const { manager } = options;
  const gone = new GoneNodes(manager.informer(nodes).lister, options.clock, options.policy);
  const reconciler = new SnapshotReconciler(options, gone);
  const informer: SharedInformer<Snapshot> = manager.informer(snapshots);
  informer.addIndex('waitsForNode', nodesOf);
  const { lister } = informer;
  const sources = manager.informer(volumes).lister;
  const classOf = (snapshot: Snapshot | undefined): string => {
    if (!snapshot) return '';
    const { namespace, source, storageClassName } = snapshot;
    const name = source.volume;
    return storageClassName ?? sources.get(keyString({ namespace, name }))?.storageClassName ?? '';
  };
  const failed = () => lister.list().filter((snapshot) => snapshot.status === 'Failed');
  // A Ready snapshot does not need its class.
  const needsClass = (snapshot: Snapshot): boolean =>
    snapshot.status === 'Failed' || snapshot.status === 'Deleting';
  const own = `${controllerName} controller`;
  const source = options.part === 'node' ? `${own} of node ${options.node}` : own;
  const controller = newController({
    ...manager.ports,
    name: controllerName,
    // A node's token has no right to reconcile records.
    timers: options.part === 'node' ? 'memory' : 'store',
    store: options.store,
    reconcile: reportingRefusals({ ...options, kind: snapshots, source }, (context) =>
      reconciler.reconcile(context),
    ),
    concurrency: workers.all,
    // A provider that does not answer delays no snapshots of other classes.
    groupOf: (key) => classOf(lister.get(keyString(key))),
    groupConcurrency: workers.perClass,
    // Copying data takes longer than other reconciles.
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
        before.failureMessage !== volume.failureMessage ||
        before.snapshotsInFlight !== volume.snapshotsInFlight ||
        // A credential of its own is also that of its snapshots.
        !jsonEqual(before.parameters, volume.parameters) ||
        !jsonEqual(before.attachments, volume.attachments),
    )
    .watches(
      manager.informer(storageClasses),
      ({ name }) =>
        lister
          .list()
          .filter((snapshot) => snapshot.storageClassName === name && needsClass(snapshot))
          .map(keyOfSnapshot),
      (before, storageClass) => !jsonEqual(before.parameters, storageClass.parameters),
    );
  // Other watches serve decisions of the cluster part; a node's token may not read all of them.
  if (options.part === 'node') return controller;
  return controller
    .watches(
      manager.informer(nodes),
      ({ name }) => {
        gone.seen(name);
        return lister.byIndex('waitsForNode', name).map(keyOfSnapshot);
      },
      // Heartbeats do not change the awaited node.
      (before, node) => before.status !== node.status,
    )
    .watches(manager.informer(secrets), () => failed().map(keyOfSnapshot));
}
