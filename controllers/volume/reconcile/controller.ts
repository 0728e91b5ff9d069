import {
  type Controller,
  findCondition,
  generationChanged,
  jsonEqual,
  type SharedInformer,
  keyString,
  modifyStatus,
  newController,
  type ObjectStore,
} from 'kedge';
import { instances } from '../../instance/kind.js';
import { reportingRefusals } from '../../event/reconcile-refusals.js';
import { nodes } from '../../node/kind.js';
import { secrets } from '../../secret/kind.js';
import { services } from '../../service/kind.js';
import { snapshots } from '../../snapshot/kind.js';
import { storageClasses } from '../../storage-class/kind.js';
import { type Volume, volumes } from '../kind.js';
import { GoneNodes } from '../../node/gone-nodes.js';
import { backoffOf } from '../../policy/policy.js';
import { controllerName, keyOfVolume, type VolumeControllerOptions } from './effects.js';
import { missedBy } from './missing-at-provider.js';
import { nodesOf } from '../../provisioned/owner.js';
import { referencedSecrets } from '../../references/secret-reference.js';
import { NodeLanes } from './node-lanes.js';
import { isNewRefusal } from './refusal.js';
import { isUnverified } from './verification.js';
import { VolumeReconciler } from './reconciler.js';

/**
 * Maximum concurrent reconciles: of all volumes, and of those of one group, see {@link NodeLanes}. Up to 63 groups may hang
 * without a delay of the others, such as the classes of all regions of a provider that does not answer. A class on nodes
 * may have five groups, but only while there are at most four such classes: these leave 44 to the others, less those of
 * earlier classes whose calls still hang.
 */
const workers = { all: 1_024, perGroup: 16 };

/**
 * The volume controller: provisioning, retries, reclaim. It watches volumes, classes and snapshots; in the cluster's
 * part also services, secrets and nodes.
 */
export function volumeController(options: VolumeControllerOptions): Controller {
  const { manager } = options;
  const gone = new GoneNodes(manager.informer(nodes).lister, options.clock, options.policy);
  const reconciler = new VolumeReconciler(options, gone);
  const volumeInformer: SharedInformer<Volume> = manager.informer(volumes);
  volumeInformer.addIndex('waitsForNode', nodesOf);
  const { lister } = volumeInformer;
  const pending = (): readonly Volume[] =>
    lister.list().filter((v) => v.status === 'Pending' || isWithoutRoom(v));
  const failed = (): readonly Volume[] =>
    lister.list().filter((v) => v.status === 'Failed' || isUnverified(v));
  const classes = manager.informer(storageClasses).lister;
  const lanes = new NodeLanes(manager.informer(storageClasses), options.drivers);
  const refersTo = (volume: Volume, secret: string): boolean => {
    const { driverParameters, parameters, storageClassName, namespace } = volume;
    const ofClass = classes.get(storageClassName)?.parameters;
    return [ofClass, driverParameters, parameters].some((each) =>
      referencedSecrets(each, namespace).includes(secret),
    );
  };
  const own = `${controllerName} controller`;
  const source = options.part === 'node' ? `${own} of node ${options.node}` : own;
  const controller = newController({
    ...manager.ports,
    name: controllerName,
    // A node's token has no right to reconcile records.
    timers: options.part === 'node' ? 'memory' : 'store',
    store: options.store,
    reconcile: reportingRefusals({ ...options, kind: volumes, source }, (context) =>
      reconciler.reconcile(context),
    ),
    concurrency: workers.all,
    // A provider that does not answer occupies the workers of its class until the deadline of each call.
    groupOf: (key) => lanes.groupOf(lister.get(keyString(key))),
    groupConcurrency: workers.perGroup,
    backoff: backoffOf(options.policy, 'driver'),
  })
    .for(
      volumeInformer,
      (before, volume) =>
        isMoreThanCallRecord(before, volume) ||
        // A node knows no policy: its refusal may end the deletion here.
        (options.part !== 'node' && isNewRefusal(before, volume, options.node)),
    )
    .watches(manager.informer(storageClasses), (c) =>
      lister.byIndex('storageClass', c.name).map(keyOfVolume),
    )
    .watches(manager.informer(snapshots), (snapshot) => [
      ...lister.byIndex('sourceSnapshot', keyString(snapshot)).map(keyOfVolume),
      // The deletion of the source volume may wait for the snapshot.
      { namespace: snapshot.namespace, name: snapshot.source.volume },
    ]);
  // Other watches serve decisions of the cluster part; a node's token may not read all of them.
  if (options.part === 'node') return controller;
  // The choice of a place reads this cache, which has to be filled before the first choice.
  manager.informer(instances);
  return controller
    .watches(
      manager.informer(services),
      (s) => lister.byIndex('ownerService', keyString(s)).map(keyOfVolume),
      // Only the existence of the service matters. Its status is derived from these volumes.
      generationChanged(),
    )
    .watches(manager.informer(secrets), (secret) => {
      const key = keyString(secret);
      const waiting = lister.list().filter((v) => isRepeated(v) && refersTo(v, key));
      return [...failed(), ...waiting].map(keyOfVolume);
    })
    .watches(
      manager.informer(nodes),
      (node) => {
        gone.seen(node.name);
        return [...pending(), ...lister.byIndex('waitsForNode', node.name)].map(keyOfVolume);
      },
      // Heartbeats change neither the topology nor the awaited node.
      (before, node) =>
        before.metadata.generation !== node.metadata.generation || before.status !== node.status,
    );
}

/**
 * Lets the provisioning of a Failed volume start again, with attempt count 0. The volume becomes Provisioning once its
 * intent is stored.
 * @returns the stored volume, unchanged if it is not Failed or is provisioned; undefined if it does not exist
 */
export async function rearm(store: ObjectStore, volume: Volume): Promise<Volume | undefined> {
  return modifyStatus(store, volumes, keyOfVolume(volume), (current) =>
    current.status === 'Failed' && !current.handle
      ? { attempts: 0, failedWith: '', reason: 'Retried' }
      : undefined,
  );
}

/** Whether a call for a volume, which may have failed for its credential, is repeated although nothing has changed. */
function isRepeated({ status, conditions }: Volume): boolean {
  return status === 'Stalled' || findCondition(conditions, 'Resizing')?.status === 'True';
}

/** Whether a volume is being provisioned where there is no capacity: a new node may offer another place. */
function isWithoutRoom({ status, exhaustedTopologies = [] }: Volume): boolean {
  return status === 'Provisioning' && exhaustedTopologies.length > 0;
}

/**
 * Whether a change is more than a call record: the node's agent writes one per failure, which must not trigger
 * retries here. A record that the volume is missing triggers a probe.
 */
function isMoreThanCallRecord(before: Volume, volume: Volume): boolean {
  if (missedBy(volume) !== undefined && missedBy(before) === undefined) return true;
  // The usual difference, for which nothing is copied.
  if (before.status !== volume.status) return true;
  return !jsonEqual(withoutRecord(before), withoutRecord(volume));
}

function withoutRecord(volume: Volume): unknown {
  const { lastOperation: _record, metadata, ...rest } = volume;
  const { resourceVersion: _version, updatedAt: _updatedAt, ...kept } = metadata;
  return { ...rest, metadata: kept };
}
