import { type NewObject, ownerReference, type Transaction } from 'kedge';
import { type Instance, instances } from '../instance/kind.js';
import { holderOf, type ParameterResolver } from '../secret/index.js';
import { policyOf } from '../storage-class/index.js';
import { storageClasses } from '../storage-class/kind.js';
import { volumeFinalizer } from '../volume/index.js';
import { type Volume, volumes } from '../volume/kind.js';
import { type Service, services, templateOf } from './kind.js';
import type { WantedVolume } from './plan.js';

/** Creates a volume of a claimTemplate. Returns false if a volume of this name exists already; it is used unchanged. */
export async function createVolume(
  resolver: Pick<ParameterResolver, 'rebind'>,
  txn: Transaction,
  { namespace, name: owner }: Service,
  { name, mount: { claimTemplate } }: WantedVolume,
): Promise<boolean> {
  if (!claimTemplate || (await txn.get(volumes, { namespace, name }, { watching: 'generation' })))
    return false;
  const { storageClassName = '', size, accessMode, reclaimPolicy, parameters } = claimTemplate;
  const storageClass =
    storageClassName && (await txn.get(storageClasses, { name: storageClassName }));
  const from = holderOf(services, { namespace, name: owner });
  const to = holderOf(volumes, { namespace, name });
  const volume: NewObject<Volume> = {
    name,
    namespace,
    storageClassName,
    size,
    accessMode,
    ...(reclaimPolicy ? { reclaimPolicy } : {}),
    ...(parameters ? { parameters: resolver.rebind(parameters, from, to) } : {}),
    ownerService: `${namespace}/${owner}`,
    ...(storageClass ? { effectiveReclaimPolicy: policyOf(claimTemplate, storageClass) } : {}),
    metadata: { finalizers: [volumeFinalizer] },
  };
  txn.create(volumes, volume);
  return true;
}

/** Creates the instance of an ordinal. Returns false if an instance of this name exists already. */
export async function createInstance(
  txn: Transaction,
  service: Service,
  ordinal: number,
): Promise<boolean> {
  const { namespace, labels, minReadySeconds } = service;
  const name = `${service.name}-${ordinal}`;
  if (await txn.get(instances, { namespace, name }, { watching: 'generation' })) return false;
  const instance: NewObject<Instance> = {
    name,
    namespace,
    ...(labels ? { labels } : {}),
    service: service.name,
    ordinal,
    template: templateOf(service),
    ...(minReadySeconds === undefined ? {} : { minReadySeconds }),
    metadata: { ownerReferences: [ownerReference(services, service)] },
  };
  txn.create(instances, instance);
  return true;
}
