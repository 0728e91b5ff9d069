import { type ApiObject, keyString, type Lister, type Manager } from 'kedge';
import type { Identity, ObjectAccess, ObjectFilter } from 'kedge/server';
import { type Instance, instances, type Volume, volumes } from '../kinds/index.js';
import { referencedSecrets } from '../secret/index.js';
import { mountedVolumes, type UsedData, usedData } from '../service/index.js';

/** Whether an instance takes variables or files from a secret or configmap. */
function uses({ namespace, template }: Instance, kind: UsedData['kind'], key: string): boolean {
  return usedData(template).some(
    (used) => used.kind === kind && `${namespace}/${used.name}` === key,
  );
}

/** Secrets that the parameters of a volume refer to. */
function referred({ namespace, driverParameters, parameters }: Volume): readonly string[] {
  return referencedSecrets({ ...parameters, ...driverParameters }, namespace);
}

/** What an agent's token may touch: its node, what is bound to it, and what that needs. */
class NodeFilter implements ObjectFilter {
  readonly #node: string;
  readonly #instances: Lister<Instance>;
  readonly #volumes: Lister<Volume>;

  constructor(node: string, instanceLister: Lister<Instance>, volumeLister: Lister<Volume>) {
    this.#node = node;
    this.#instances = instanceLister;
    this.#volumes = volumeLister;
  }

  allows(resource: string, verb: string, object: ApiObject): boolean {
    const key = keyString(object);
    switch (resource) {
      case 'nodes':
      case 'nodes/status':
        return object.name === this.#node;
      case 'instances':
      case 'instances/status':
        return (object as Instance).node === this.#node;
      case 'volumes':
      case 'volumes/status':
        return this.#uses(object as Volume);
      case 'secrets':
        return (
          this.#mine().some((i) => uses(i, 'secret', key)) ||
          this.#myVolumes().some((volume) => referred(volume).includes(key))
        );
      case 'configmaps':
        return this.#mine().some((i) => uses(i, 'configmap', key));
      case 'events':
        return verb === 'create' || verb === 'update';
      case 'services':
        return this.#mine().some((i) => `${i.namespace}/${i.service}` === key);
      case 'storageclasses':
        return verb !== 'update' && verb !== 'delete';
      default:
        return false;
    }
  }

  #mine(): readonly Instance[] {
    return this.#instances.list().filter((instance) => instance.node === this.#node);
  }

  #myVolumes(): readonly Volume[] {
    return this.#volumes.list().filter((volume) => this.#uses(volume));
  }

  #uses(volume: Volume): boolean {
    const attached = (volume.attachments ?? []).some(({ node }) => node === this.#node);
    if (attached || volume.boundNode === this.#node) return true;
    const key = keyString(volume);
    return this.#mine().some((instance) => mountedVolumes(instance).includes(key));
  }
}

/** Narrows the tokens of agents to what belongs to their node. */
export function nodeRestriction(manager: Manager): ObjectAccess {
  const instanceLister = manager.informer(instances).lister;
  const volumeLister = manager.informer(volumes).lister;
  return {
    filterFor: (identity: Identity) =>
      identity.node === undefined
        ? undefined
        : new NodeFilter(identity.node, instanceLister, volumeLister),
  };
}
