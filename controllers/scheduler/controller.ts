import {
  type Clock,
  type Controller,
  done,
  isDeleting,
  type Logger,
  type Manager,
  modifyStatus,
  newController,
  type ObjectStore,
  type Random,
  type Request,
  type Result,
  setCondition,
  timestamp,
} from 'kedge';
import { agentFinalizer } from '../instance/index.js';
import { type Instance, instances, nodes, storageClasses, volumes } from '../kinds/index.js';
import { backoffOf, type ControllerPolicy } from '../policy.js';
import { volumeOfMount } from '../service/index.js';
import { placeInstance, type VolumeConstraint } from './plan.js';

/** Ports of the scheduler. */
export interface SchedulerOptions {
  readonly store: ObjectStore;
  readonly manager: Manager;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly policy: ControllerPolicy;
}

/** What the volumes of an instance say about nodes; one that does not exist yet says nothing. */
function constraintsOf(manager: Manager, instance: Instance): readonly VolumeConstraint[] {
  const { namespace, service, ordinal, template } = instance;
  return (template.volumes ?? []).flatMap((mount) => {
    const key = volumeOfMount(mount, namespace, service, ordinal);
    const volume = key && manager.informer(volumes).lister.get(`${key.namespace}/${key.name}`);
    if (!volume) return [];
    const classes = manager.informer(storageClasses).lister;
    return [{ volume, storageClass: classes.get(volume.storageClassName) }];
  });
}

async function reconcile(options: SchedulerOptions, request: Request): Promise<Result> {
  const { store, manager, clock } = options;
  const instance = await store.get(instances, request.key);
  if (!instance || instance.node !== undefined || isDeleting(instance)) return done();
  const all = manager.informer(nodes).lister.list();
  const placement = placeInstance(instance, all, constraintsOf(manager, instance));
  const condition = (status: 'True' | 'False', reason: string, message: string) =>
    setCondition(
      instance.conditions,
      { type: 'Scheduled', status, reason, message },
      timestamp(clock),
    );
  if (placement.type === 'none') {
    const conditions = condition('False', 'NoNodeFits', placement.message);
    await modifyStatus(store, instances, request.key, () => ({ conditions }));
    return done();
  }
  // With its node the instance gets the finalizer of that node's agent, in one transaction.
  const { uid, resourceVersion } = instance.metadata;
  const finalizers = [...(instance.metadata.finalizers ?? []), agentFinalizer];
  const metadata = { ...instance.metadata, finalizers };
  const bound: Instance = { ...instance, node: placement.node, metadata };
  const message = `bound to node ${placement.node}`;
  const kind = instances;
  await store.transact([
    {
      op: 'update',
      kind,
      object: bound,
      precondition: { uid, resourceVersion },
    },
    {
      op: 'updateStatus',
      kind,
      key: request.key,
      status: { conditions: condition('True', 'Scheduled', message) },
    },
  ]);
  return done();
}

/** Binds instances to nodes. */
export function schedulerController(options: SchedulerOptions): Controller {
  const { manager } = options;
  const informer = manager.informer(instances);
  const waiting = (): { namespace: string; name: string }[] =>
    informer.lister
      .list()
      .filter((i) => i.node === undefined)
      .map((i) => ({ namespace: i.namespace, name: i.name }));
  return newController({
    ...manager.ports,
    name: 'scheduler',
    reconcile: (request) => reconcile(options, request),
    backoff: backoffOf(options.policy, 'object'),
  })
    .for(informer)
    .watches(
      manager.informer(nodes),
      () => waiting(),
      // A heartbeat changes no placement.
      (before, node) =>
        before.status !== node.status || before.metadata.generation !== node.metadata.generation,
    )
    .watches(
      manager.informer(volumes),
      () => waiting(),
      (before, volume) => before.handle !== volume.handle,
    )
    .watches(manager.informer(storageClasses), () => waiting());
}
