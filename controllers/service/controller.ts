import {
  type Clock,
  type Controller,
  done,
  hasCode,
  keyString,
  type Lister,
  type Logger,
  type Manager,
  newController,
  type ObjectKey,
  type ObjectStore,
  type Operation,
  type Random,
  type ReconcileContext,
  requeueAfter,
  type Result,
  timestamp,
  type Transaction,
} from 'kedge';
import { type Instance, instances } from '../instance/kind.js';
import { snapshots } from '../snapshot/kind.js';
import { type Volume, volumes } from '../volume/kind.js';
import { type Service, services } from './kind.js';
import { backoffOf, type ControllerPolicy } from '../policy/policy.js';
import type { ParameterResolver } from '../secret/index.js';
import { deleteUnused } from '../volume/index.js';
import { setCondition } from '../reasons/index.js';
import { serviceFinalizer } from './admission.js';
import { createInstance, createVolume } from './new-objects.js';
import { planService, type ServicePlan, type ServiceSituation, statusOf, waitOf } from './plan.js';

/** Dependencies of the service controller. */
export interface ServiceControllerOptions {
  readonly store: ObjectStore;
  readonly manager: Manager;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly policy: ControllerPolicy;
  readonly resolver: Pick<ParameterResolver, 'rebind'>;
}

/** Write operations per transaction: a large service needs several. */
const writesMax = 500;

/** The remaining work after one transaction. */
interface Step {
  /** Volumes of the service to delete with their data, unless blocked. */
  readonly unused: readonly Volume[];
  /** The object at the time of the decision. */
  readonly service: Service | undefined;
  readonly result: Result;
}

class ServiceReconciler {
  readonly #options: ServiceControllerOptions;

  constructor(options: ServiceControllerOptions) {
    this.#options = options;
  }

  async reconcile(context: ReconcileContext): Promise<Result> {
    const { unused, service, result } = await context.txn((txn) => this.#step(txn, context.key));
    if (service) for (const volume of unused) await this.#deleteVolume(volume, service);
    return result;
  }

  /**
   * Plans and writes one transaction. Instances are read from the store: a cache may lack new ones, which would be
   * created twice.
   */
  async #step(txn: Transaction, key: ObjectKey): Promise<Step> {
    const service = await txn.get(services, key);
    if (!service) return { unused: [], service, result: done() };
    const { manager } = this.#options;
    const mine = { value: keyString(service), watching: 'generation' } as const;
    const ownedVolumes = await txn.list(volumes, { index: 'ownerService', ...mine });
    const own = new Map(ownedVolumes.map((volume) => [volume.name, volume]));
    const cached: Lister<Volume> = manager.informer(volumes).lister;
    const situation: ServiceSituation = {
      service,
      instances: await txn.list(instances, { index: 'service', ...mine }),
      volumeNamed: (name) => own.get(name) ?? cached.get(`${service.namespace}/${name}`),
      ownedVolumes,
    };
    const plan = planService(situation);
    const unused = plan.deleteVolumes;
    if (plan.finish) {
      this.#finish(txn, service, plan);
      return { unused, service, result: done() };
    }
    const { written, created } = await this.#writeObjects(txn, service, plan);
    // Deletions, and changes beyond the size of one transaction, are in the status after the next run.
    if (written === writesMax || plan.deleteInstances.length > 0)
      return { unused, service, result: requeueAfter(0) };
    const status = statusOf(situation, plan.stale, created);
    this.#writeStatus(txn, service, { ...plan, status }, waitOf(situation));
    return { unused, service, result: done() };
  }

  /** Applies the plan, up to the size of one transaction. @returns the changes, and the new instances among them */
  async #writeObjects(
    txn: Transaction,
    service: Service,
    plan: ServicePlan,
  ): Promise<{ readonly written: number; readonly created: number }> {
    let created = 0;
    const writes = [
      ...plan.createVolumes.map(
        (wanted) => () => createVolume(this.#options.resolver, txn, service, wanted),
      ),
      ...plan.createInstances.map((ordinal) => async () => {
        const isCreated = await createInstance(txn, service, ordinal);
        if (isCreated) created += 1;
        return isCreated;
      }),
      ...plan.deleteInstances.map((instance) => () => {
        txn.delete(instances, instance);
        return true;
      }),
      ...plan.paceInstances.map((instance) => () => {
        txn.update(instances, paced(instance, service));
        return true;
      }),
      ...policiesOf(plan).map((volume) => () => {
        txn.update(volumes, volume);
        return true;
      }),
    ];
    let written = 0;
    for (const write of writes) {
      if (await write()) written += 1;
      if (written === writesMax) break;
    }
    return { written, created };
  }

  /**
   * Deletes a volume under the rules of a user's DELETE, because another service may use it by name. The commit fails
   * if the service was scaled up since.
   */
  async #deleteVolume(volume: Volume, service: Service): Promise<void> {
    const { store } = this.#options;
    const current = await store.get(volumes, { namespace: volume.namespace, name: volume.name });
    if (current?.metadata.uid !== volume.metadata.uid) return;
    try {
      // A blocker belongs to the volume or its snapshots, whose changes queue this key.
      await deleteUnused(store, current, { withData: true, checks: [unchanged(service)] });
    } catch (error) {
      if (!hasCode(error, 'NotFound') && !hasCode(error, 'Aborted')) throw error;
    }
  }

  /** Finishes the deletion of a service. Reclaim policies are applied when the volumes are reclaimed (V31). */
  #finish(txn: Transaction, service: Service, plan: ServicePlan): void {
    for (const volume of policiesOf(plan)) txn.update(volumes, volume);
    const held = service.metadata.finalizers ?? [];
    if (!held.includes(serviceFinalizer)) return;
    const finalizers = held.filter((other) => other !== serviceFinalizer);
    txn.update(services, { ...service, metadata: { ...service.metadata, finalizers } });
  }

  #writeStatus(
    txn: Transaction,
    service: Service,
    plan: ServicePlan,
    wait: string | undefined,
  ): void {
    const { namespace, name, conditions, metadata, scale = 1 } = service;
    const { status, readyInstances = 0 } = plan.status;
    const condition = {
      type: 'Ready',
      status: status === 'Running' ? ('True' as const) : ('False' as const),
      reason: status ?? 'Pending',
      message: `${readyInstances} of ${scale} instances are ready${replacementMessage(service, plan)}${wait === undefined ? '' : `; ${wait}`}`,
    };
    txn.updateStatus(
      services,
      { namespace, name },
      {
        ...plan.status,
        observedGeneration: metadata.generation,
        conditions: setCondition(conditions, condition, timestamp(this.#options.clock)),
      },
    );
  }
}

/** The instance with the minReadySeconds of its service, which applies without a restart of the workload. */
function paced(
  { minReadySeconds: _, ...instance }: Instance,
  { minReadySeconds }: Service,
): Instance {
  return minReadySeconds === undefined ? instance : { ...instance, minReadySeconds };
}

/** Volumes whose policy must change, with the new policy. */
function policiesOf({ policies }: ServicePlan): readonly Volume[] {
  return policies.map(({ volume, reclaimPolicy }) => ({ ...volume, reclaimPolicy }));
}

function unchanged({ namespace, name, metadata: { uid, generation } }: Service): Operation {
  return {
    op: 'check',
    kind: services,
    key: { namespace, name },
    precondition: { uid, generation },
  };
}

function replacementMessage({ namespace, name }: Service, { waitsFor }: ServicePlan): string {
  if (waitsFor === undefined) return '';
  const instance = `${name}-${waitsFor}`;
  return `; older ones are replaced once ${instance} is ready: kedge describe instance ${instance} -n ${namespace}`;
}

/** The service controller: volumes and instances per ordinal, and the status derived from them. */
export function serviceController(options: ServiceControllerOptions): Controller {
  const { manager } = options;
  const reconciler = new ServiceReconciler(options);
  const volumeInformer = manager.informer(volumes);
  return newController({
    ...manager.ports,
    name: 'service',
    store: options.store,
    reconcile: (context) => reconciler.reconcile(context),
    concurrency: 4,
    backoff: backoffOf(options.policy, 'object'),
  })
    .for(manager.informer(services))
    .watches(manager.informer(instances), (i) => [{ namespace: i.namespace, name: i.service }])
    .watches(volumeInformer, ownerOf)
    .watches(manager.informer(snapshots), ({ namespace, source }) => {
      const volume = volumeInformer.lister.get(`${namespace}/${source.volume}`);
      return volume ? ownerOf(volume) : [];
    });
}

function ownerOf({ ownerService = '' }: Volume): readonly ObjectKey[] {
  const [namespace, name] = ownerService.split('/');
  return namespace && name ? [{ namespace, name }] : [];
}
