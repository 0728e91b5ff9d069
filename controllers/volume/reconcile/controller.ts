import {
  type Controller,
  generationChanged,
  jsonEqual,
  type SharedInformer,
  keyString,
  modifyStatus,
  newController,
  type ObjectStore,
} from 'kedge';
import { nodes } from '../../node/kind.js';
import { secrets } from '../../secret/kind.js';
import { services } from '../../service/kind.js';
import { snapshots } from '../../snapshot/kind.js';
import { storageClasses } from '../../storage-class/kind.js';
import { type Volume, volumes } from '../kind.js';
import { GoneNodes } from '../../node/gone.js';
import { backoffOf } from '../../policy/policy.js';
import { controllerName, keyOfVolume, type VolumeControllerOptions } from './effects.js';
import { missedBy } from './missed.js';
import { nodesOf } from '../states/owner.js';
import { VolumeReconciler } from './reconciler.js';

/** The volume controller: provisioning, retries, reclaim; woken by volumes, classes, services and secrets. */
export function volumeController(options: VolumeControllerOptions): Controller {
  const { manager } = options;
  const gone = new GoneNodes(manager.informer(nodes).lister, options.clock, options.policy);
  const reconciler = new VolumeReconciler(options, gone);
  const volumeInformer: SharedInformer<Volume> = manager.informer(volumes);
  volumeInformer.addIndex('waitsForNode', nodesOf);
  const { lister } = volumeInformer;
  const pending = (): readonly Volume[] => lister.list().filter((v) => v.status === 'Pending');
  const failed = (): readonly Volume[] => lister.list().filter((v) => v.status === 'Failed');
  const controller = newController({
    ...manager.ports,
    name: controllerName,
    // A node's token reaches no timers of controllers.
    timers: options.part === 'node' ? 'memory' : 'store',
    store: options.store,
    reconcile: (context) => reconciler.reconcile(context),
    concurrency: 16,
    backoff: backoffOf(options.policy, 'driver'),
  })
    .for(volumeInformer, tellsMore)
    .watches(manager.informer(storageClasses), (c) =>
      lister.byIndex('storageClass', c.name).map(keyOfVolume),
    )
    .watches(manager.informer(snapshots), (snapshot) => [
      ...lister.byIndex('sourceSnapshot', keyString(snapshot)).map(keyOfVolume),
      // Its deletion may have waited for the copy.
      { namespace: snapshot.namespace, name: snapshot.source.volume },
    ]);
  // The rest is for decisions, and a node's token does not reach all of it.
  if (options.part === 'node') return controller;
  return controller
    .watches(
      manager.informer(services),
      (s) => lister.byIndex('ownerService', keyString(s)).map(keyOfVolume),
      // What matters is whether it is there: its status tells of these volumes.
      generationChanged(),
    )
    .watches(manager.informer(secrets), () => failed().map(keyOfVolume))
    .watches(
      manager.informer(nodes),
      (node) => {
        gone.seen(node.name);
        return [...pending(), ...lister.byIndex('waitsForNode', node.name)].map(keyOfVolume);
      },
      // A heartbeat changes neither a topology nor who is waited for.
      (before, node) =>
        before.metadata.generation !== node.metadata.generation || before.status !== node.status,
    );
}

/** Arms a Failed volume again with a fresh count of attempts; it is Provisioning once its intent is stored. */
export async function rearm(store: ObjectStore, volume: Volume): Promise<Volume | undefined> {
  return modifyStatus(store, volumes, keyOfVolume(volume), (current) =>
    current.status === 'Failed' && !current.handle
      ? { attempts: 0, failedWith: '', reason: 'Retried' }
      : undefined,
  );
}

/**
 * Whether a change is more than the record of a call: the node's agent writes one with each failure, and a
 * call that failed here would be made again at its pace. A record that says that the volume is not there is
 * reason to look.
 */
function tellsMore(before: Volume, volume: Volume): boolean {
  if (missedBy(volume) !== undefined && missedBy(before) === undefined) return true;
  return !jsonEqual(withoutRecord(before), withoutRecord(volume));
}

function withoutRecord(volume: Volume): unknown {
  const { lastOperation: _record, metadata, ...rest } = volume;
  const { resourceVersion: _version, updatedAt: _updatedAt, ...kept } = metadata;
  return { ...rest, metadata: kept };
}
