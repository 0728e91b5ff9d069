import {
  type Clock,
  type Controller,
  done,
  isDeleting,
  type Logger,
  type Manager,
  newController,
  type ObjectStore,
  type Random,
  type ReconcileContext,
  requeueAfter,
  type Result,
  timestamp,
  type Transaction,
} from 'kedge';
import type { DriverRegistry } from '@kedge/driver-sdk';
import { agentFinalizer } from '../instance/index.js';
import { type Instance, instances } from '../instance/kind.js';
import { nodes } from '../node/kind.js';
import { namedTopology } from '../storage-class/index.js';
import { type StorageClass, storageClasses } from '../storage-class/kind.js';
import { type Volume, volumes } from '../volume/kind.js';
import { backoffOf, type ControllerPolicy } from '../policy/policy.js';
import { volumeOfMount } from '../references/claim.js';
import { isNeedy } from '../resources/index.js';
import { type Reason, setCondition } from '../reasons/index.js';
import { placeInstance, type VolumeConstraint } from '../placement/index.js';
import {
  changesNodePlacement,
  changesVolumePlacement,
  placementRequeues,
} from './placement-requeues.js';

/** Dependencies of the scheduler. */
export interface SchedulerOptions {
  readonly store: ObjectStore;
  readonly manager: Manager;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly policy: ControllerPolicy;
  readonly drivers: Pick<DriverRegistry, 'get'>;
}

/** Delay until the cache contains a write. */
const cacheLagMs = 50;

/** Returns the node constraints of a volume. Its parameters have the same precedence as in driver calls. */
async function constraintOf(
  { drivers }: Pick<SchedulerOptions, 'drivers'>,
  volume: Volume,
  storageClass: StorageClass | undefined,
): Promise<VolumeConstraint> {
  if (volume.handle || !storageClass) return { volume, storageClass };
  const driver = await drivers.get(volume.driver || storageClass.driver);
  const parameters = {
    ...storageClass.parameters,
    ...volume.parameters,
    ...volume.driverParameters,
  };
  const { placeParameters, requiredTopologyKeys = [] } = driver?.capabilities() ?? {};
  const named = namedTopology(parameters, placeParameters);
  const open = requiredTopologyKeys.filter(
    (key) => named.labels[key] === undefined && named.references[key] === undefined,
  );
  return { volume, storageClass, named, open };
}

/** Reads the node constraints of an instance's volumes. A missing volume has none. */
async function constraintsOf(
  options: SchedulerOptions,
  txn: Transaction,
  { namespace, service, ordinal, template }: Instance,
): Promise<readonly VolumeConstraint[]> {
  const constraints: VolumeConstraint[] = [];
  for (const mount of template.volumes ?? []) {
    const key = volumeOfMount(mount, namespace, service, ordinal);
    const watching = ['handle', 'topology', 'driver', 'driverParameters'] as const;
    const volume = key && (await txn.get(volumes, key, { watching }));
    if (!volume) continue;
    await txn.get(volumes, key, { watching: 'generation' });
    const { storageClassName: name } = volume;
    const storageClass =
      name === '' ? undefined : await txn.get(storageClasses, { name }, { watching: 'generation' });
    constraints.push(await constraintOf(options, volume, storageClass));
  }
  return constraints;
}

/**
 * Places an instance on a node, or writes why no node fits. The commit fails if the node or a volume has changed since
 * it was read.
 */
function reconcile(options: SchedulerOptions, context: ReconcileContext): Promise<Result> {
  const { key } = context;
  return context.txn(async (txn) => {
    const instance = await txn.get(instances, key);
    if (!instance || instance.node !== undefined || isDeleting(instance)) return done();
    const constraints = await constraintsOf(options, txn, instance);
    const cached = options.manager.informer(nodes).lister.list();
    const report = (status: 'True' | 'False', reason: Reason, message: string): void => {
      const condition = { type: 'Scheduled', status, reason, message };
      const conditions = setCondition(instance.conditions, condition, timestamp(options.clock));
      txn.updateStatus(instances, key, { conditions });
    };
    const { lister } = options.manager.informer(instances);
    const placedOn = (node: string): readonly Instance[] => lister.byIndex('takesFrom', node);
    const placement = placeInstance(instance, cached, constraints, placedOn);
    if (placement.type === 'none') {
      report('False', placement.reason, placement.message);
      return done();
    }
    const { node: name } = placement;
    const node = await txn.get(nodes, { name }, { watching: 'generation' });
    await txn.get(nodes, { name }, { watching: ['status'] });
    // The cache is behind the store: once it has the change of the node, waiting instances are queued.
    if (!node || placeInstance(instance, [node], constraints).type === 'none') return done();
    if (isNeedy(instance.template)) {
      // The cache may lack an instance that was placed just now. The commit fails if another one is placed meanwhile.
      const placed = await txn.list(instances, {
        index: 'takesFrom',
        value: name,
        watching: 'generation',
      });
      if (placeInstance(instance, [node], constraints, () => placed).type === 'none')
        return requeueAfter(cacheLagMs);
    }
    // One transaction sets the node and the finalizer of its agent.
    const finalizers = [...(instance.metadata.finalizers ?? []), agentFinalizer];
    const metadata = { ...instance.metadata, finalizers };
    txn.update(instances, { ...instance, node: name, metadata });
    report('True', 'Scheduled', `bound to node ${name}`);
    return done();
  });
}

/** Creates the controller that binds instances to nodes. */
export function schedulerController(options: SchedulerOptions): Controller {
  const { manager } = options;
  const informer = manager.informer(instances);
  const requeues = placementRequeues({ instances: informer, volumes: manager.informer(volumes) });
  return (
    newController({
      ...manager.ports,
      name: 'scheduler',
      store: options.store,
      reconcile: (context) => reconcile(options, context),
      backoff: backoffOf(options.policy, 'object'),
    })
      .for(informer)
      .watches(manager.informer(nodes), requeues.ofNode, changesNodePlacement)
      // Only the deletion of an instance frees resources; creations and updates queue no other instances.
      .watches(informer, requeues.ofInstance, () => false)
      .watches(manager.informer(volumes), requeues.ofVolume, changesVolumePlacement)
      .watches(manager.informer(storageClasses), requeues.ofClass)
  );
}
