import {
  type Clock,
  type Controller,
  done,
  hasCode,
  type Lister,
  type Logger,
  type Manager,
  modify,
  modifyStatus,
  newController,
  type ObjectKey,
  type ObjectStore,
  ownerReference,
  type Random,
  removeFinalizer,
  type Request,
  requeueAfter,
  type Result,
  setCondition,
  timestamp,
} from 'kedge';
import {
  type Instance,
  instances,
  type ReclaimPolicy,
  type Service,
  services,
  snapshots,
  templateOf,
  type Volume,
  volumes,
} from '../kinds/index.js';
import { backoffOf, type ControllerPolicy } from '../policy.js';
import { deleteUnused, volumeFinalizer } from '../volume/index.js';
import { serviceFinalizer } from './admission.js';
import { planService, type ServicePlan, type WantedVolume } from './plan.js';

/** Ports of the service controller. */
export interface ServiceControllerOptions {
  readonly store: ObjectStore;
  readonly manager: Manager;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly policy: ControllerPolicy;
}

class ServiceReconciler {
  readonly #options: ServiceControllerOptions;

  constructor(options: ServiceControllerOptions) {
    this.#options = options;
  }

  async reconcile(request: Request): Promise<Result> {
    const { store, manager } = this.#options;
    const service = await store.get(services, request.key);
    if (!service) return done();
    const owner = `${service.namespace}/${service.name}`;
    const all = manager.informer(instances).lister.byIndex('service', owner);
    const volumeLister: Lister<Volume> = manager.informer(volumes).lister;
    const plan = planService({
      service,
      nowMs: this.#options.clock.now(),
      instances: all,
      volumeNamed: (name) => volumeLister.get(`${service.namespace}/${name}`),
      ownedVolumes: volumeLister.byIndex('serviceOwner', owner),
    });
    for (const wanted of plan.createVolumes) await this.#createVolume(service, wanted);
    for (const ordinal of plan.createInstances) await this.#createInstance(service, ordinal);
    for (const instance of plan.deleteInstances) await this.#deleteInstance(instance);
    for (const { volume, reclaimPolicy } of plan.policies)
      await this.#setPolicy(volume, reclaimPolicy);
    for (const volume of plan.deleteVolumes) {
      await this.#setPolicy(volume, 'delete');
      await this.#deleteVolume(volume);
    }
    if (plan.finish) await this.#finish(service);
    else await this.#writeStatus(service, plan);
    const { forMs } = plan.waitsFor ?? {};
    return forMs === undefined ? done() : requeueAfter(forMs);
  }

  async #createVolume(service: Service, wanted: WantedVolume): Promise<void> {
    const template = wanted.mount.claimTemplate;
    if (!template) return;
    await this.#create(() =>
      this.#options.store.create(volumes, {
        name: wanted.name,
        namespace: service.namespace,
        storageClassName: template.storageClassName ?? '',
        size: template.size,
        accessMode: template.accessMode,
        ...(template.reclaimPolicy ? { reclaimPolicy: template.reclaimPolicy } : {}),
        ...(template.parameters ? { parameters: template.parameters } : {}),
        ownerService: `${service.namespace}/${service.name}`,
        metadata: { finalizers: [volumeFinalizer] },
      } satisfies Omit<Volume, 'metadata'> & { metadata: object }),
    );
  }

  async #createInstance(service: Service, ordinal: number): Promise<void> {
    await this.#create(() =>
      this.#options.store.create(instances, {
        name: `${service.name}-${ordinal}`,
        namespace: service.namespace,
        ...(service.labels ? { labels: service.labels } : {}),
        service: service.name,
        ordinal,
        template: templateOf(service),
        metadata: { ownerReferences: [ownerReference(services, service)] },
      } satisfies Omit<Instance, 'metadata'> & { metadata: object }),
    );
  }

  /** Names are deterministic, so that it exists already means that an earlier run made it. */
  async #create(create: () => Promise<unknown>): Promise<void> {
    try {
      await create();
    } catch (error) {
      if (!hasCode(error, 'AlreadyExists')) throw error;
    }
  }

  async #deleteInstance(instance: Instance): Promise<void> {
    try {
      await this.#options.store.delete(instances, instance);
    } catch (error) {
      if (!hasCode(error, 'NotFound') && !hasCode(error, 'Aborted')) throw error;
    }
  }

  /** The policy counts when the volume is reclaimed (V31). */
  async #setPolicy(volume: Volume, reclaimPolicy: ReclaimPolicy): Promise<void> {
    const key = { namespace: volume.namespace, name: volume.name };
    await modify(this.#options.store, volumes, key, (current) =>
      current.reclaimPolicy === reclaimPolicy || current.metadata.uid !== volume.metadata.uid
        ? undefined
        : { ...current, reclaimPolicy },
    );
  }

  /** Under the rule of a user's DELETE: another service may use it by its name meanwhile. */
  async #deleteVolume(volume: Volume): Promise<void> {
    const { store } = this.#options;
    const current = await store.get(volumes, { namespace: volume.namespace, name: volume.name });
    if (current?.metadata.uid !== volume.metadata.uid) return;
    try {
      // What is in the way wakes this when it goes: it is the volume's, or one of its snapshots.
      await deleteUnused(store, current);
    } catch (error) {
      if (!hasCode(error, 'NotFound') && !hasCode(error, 'Aborted')) throw error;
    }
  }

  async #finish(service: Service): Promise<void> {
    await removeFinalizer(this.#options.store, services, service, serviceFinalizer);
  }

  async #writeStatus(service: Service, plan: ServicePlan): Promise<void> {
    const { store, clock } = this.#options;
    const key = { namespace: service.namespace, name: service.name };
    const { status, readyInstances = 0 } = plan.status;
    const scale = service.scale ?? 1;
    await modifyStatus(store, services, key, (current) => ({
      ...plan.status,
      observedGeneration: service.metadata.generation,
      conditions: setCondition(
        current.conditions,
        {
          type: 'Ready',
          status: status === 'Running' ? 'True' : 'False',
          reason: status ?? 'Pending',
          message: `${readyInstances} of ${scale} instances are ready${replacementMessage(service, plan)}`,
        },
        timestamp(clock),
      ),
    }));
  }
}

function replacementMessage({ namespace, name }: Service, { waitsFor }: ServicePlan): string {
  if (!waitsFor || waitsFor.forMs !== undefined) return '';
  const instance = `${name}-${waitsFor.ordinal}`;
  return `; older ones are replaced once ${instance} is ready: kedge describe instance ${instance} -n ${namespace}`;
}

/** The service controller: volumes and instances per ordinal, status from what they do. */
export function serviceController(options: ServiceControllerOptions): Controller {
  const { manager } = options;
  const reconciler = new ServiceReconciler(options);
  const instanceInformer = manager.informer(instances);
  const volumeInformer = manager.informer(volumes);
  volumeInformer.addIndex('serviceOwner', (volume) =>
    volume.ownerService ? [volume.ownerService] : [],
  );
  instanceInformer.addIndex('service', (i) => [`${i.namespace}/${i.service}`]);
  return newController({
    ...manager.ports,
    name: 'service',
    reconcile: (request) => reconciler.reconcile(request),
    concurrency: 4,
    backoff: backoffOf(options.policy, 'object'),
  })
    .for(manager.informer(services))
    .watches(instanceInformer, (i) => [{ namespace: i.namespace, name: i.service }])
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
