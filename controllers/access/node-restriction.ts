import {
  type ApiObject,
  type EffectRecord,
  type Event,
  type FieldViolation,
  keyString,
  type Lister,
  type Manager,
} from 'kedge';
import type { Identity, ObjectAccess, ObjectChange, ObjectFilter } from 'kedge/server';
import type { DriverRegistry } from '@kedge/driver-sdk';
import { type Instance, instances } from '../instance/kind.js';
import { type Snapshot, snapshots } from '../snapshot/kind.js';
import { type StorageClass, storageClasses } from '../storage-class/kind.js';
import { liveClass } from '../references/live-class.js';
import { type Attachment, type Volume, volumes } from '../volume/kind.js';
import { secretsWithClass, secretsWithoutClass } from '../references/needed-parameters.js';
import { type UsedData, usedData } from '../service/index.js';
import { mountedVolumes } from '../references/claim.js';
import { homeOf, nodesOf, ownerOf } from '../provisioned/owner.js';
import {
  isAgentsAlone,
  withheldFinalizers,
  withheldOfNode,
  withheldOfRecord,
  withheldOfSnapshot,
  withheldOfVolume,
} from './withheld.js';

/** Whether an instance uses variables or files of a secret or configmap. */
function uses({ namespace, template }: Instance, kind: UsedData['kind'], key: string): boolean {
  return usedData(template).some(
    (used) => used.kind === kind && `${namespace}/${used.name}` === key,
  );
}

// Rights are evaluated for each object of a list, so this uses indexes only.
const boundTo = 'rights of the node it is bound to';
const mountedOn = 'rights of the node that mounts';
const heldBy = 'rights of the node that holds it';

function mountOf(node: string, volume: string): string {
  return `${node} ${volume}`;
}

/** The facts on which the rights of nodes depend. */
interface Facts {
  readonly instances: Lister<Instance>;
  readonly volumes: Lister<Volume>;
  readonly snapshots: Lister<Snapshot>;
  readonly storageClasses: Lister<StorageClass>;
  readonly drivers: DriverRegistry;
}

/**
 * The access of an agent's token: its node, the instances bound to it, the volumes and snapshots that are on it, and
 * the objects that these need. It depends only on data that no node can write: the node, service and template of an
 * instance; the class, parameters, captured parameters and topology of a volume; the parameters of a class; the
 * topology and source of a snapshot. The exception is the attachments of a volume: a node adds them only for instances
 * bound to it that mount the volume.
 */
class NodeFilter implements ObjectFilter {
  readonly #node: string;
  readonly #facts: Facts;

  constructor(node: string, facts: Facts) {
    this.#node = node;
    this.#facts = facts;
  }

  allows(resource: string, verb: string, object: ApiObject): boolean {
    const key = keyString(object);
    switch (resource) {
      case 'nodes':
      case 'nodes/status':
        return object.name === this.#node;
      case 'instances':
      case 'instances/status':
      case 'instances/finalizers':
        return (object as Instance).node === this.#node;
      case 'volumes':
      case 'volumes/status':
        return this.#reaches(object as Volume);
      case 'snapshots':
      case 'snapshots/status':
        return this.#has(object as Snapshot);
      case 'effectrecords':
        return this.#reachesRecord(object as EffectRecord, verb);
      case 'secrets':
        return (
          this.#mine().some((i) => uses(i, 'secret', key)) ||
          this.#myVolumes().some((volume) => this.#referred(volume).includes(key))
        );
      case 'configmaps':
        return this.#mine().some((i) => uses(i, 'configmap', key));
      case 'events':
      case 'events/expiry':
        return verb !== 'delete' && this.#isAboutThisNode(object as Event);
      case 'services':
        return this.#mine().some((i) => `${i.namespace}/${i.service}` === key);
      case 'storageclasses':
        return verb !== 'update' && verb !== 'delete';
      default:
        return false;
    }
  }

  async withheld(
    resource: string,
    { before, after }: ObjectChange,
  ): Promise<readonly FieldViolation[]> {
    const node = this.#node;
    switch (resource) {
      case 'events':
        return this.#isAboutThisNode(after as Event)
          ? []
          : [{ field: 'regarding', description: `does not belong to node ${node}` }];
      case 'effectrecords':
        return this.#withheldOfRecord(before as EffectRecord | undefined, after as EffectRecord);
      case 'nodes':
        return withheldOfNode(before, after);
      case 'instances/finalizers':
        return before ? withheldFinalizers(before, after) : [];
      case 'snapshots/status': {
        const owned = await this.#takesNoCredentials(before as Snapshot);
        return withheldOfSnapshot(before as Snapshot, after as Snapshot, owned);
      }
      case 'volumes/status': {
        const volume = before as Volume;
        const owned = this.#owns(volume) && (await this.#takesNoCredentials(volume));
        const write = { node, before: volume, after: after as Volume };
        return withheldOfVolume(write, {
          owned,
          isClaimHere: (claim) => this.#isClaimHere(claim, volume),
        });
      }
      default:
        return [];
    }
  }

  #mine(): readonly Instance[] {
    return this.#facts.instances.byIndex(boundTo, this.#node);
  }

  #myVolumes(): readonly Volume[] {
    const mounted = this.#mine()
      .flatMap((instance) => mountedVolumes(instance))
      .map((key) => this.#facts.volumes.get(key))
      .filter((volume) => volume !== undefined);
    return [...new Set([...this.#facts.volumes.byIndex(heldBy, this.#node), ...mounted])];
  }

  /** Whether a volume is attached here, mounted by an instance of this node, or has its data only here. */
  #reaches(volume: Volume): boolean {
    if ((volume.attachments ?? []).some(({ node }) => node === this.#node)) return true;
    if (this.#owns(volume)) return true;
    const mount = mountOf(this.#node, keyString(volume));
    return this.#facts.instances.byIndex(mountedOn, mount).length > 0;
  }

  /** Whether its topology, which the volume controller writes, names this node. */
  #owns(volume: Volume): boolean {
    return homeOf(volume) === this.#node;
  }

  /** The relation of this node to the operations of a volume; undefined without one. */
  #share({ name: uid, of, key }: EffectRecord): { readonly owns: boolean } | undefined {
    const volume = of === volumes.kind ? this.#facts.volumes.get(key) : undefined;
    if (volume?.metadata.uid !== uid) return undefined;
    const owner = ownerOf(volume);
    if (owner.type === 'node') return owner.node === this.#node ? { owns: true } : undefined;
    // If several nodes share a volume, each one attaches and detaches it for itself.
    const isHere = ({ node, state }: Attachment): boolean =>
      node === this.#node && state !== 'Detaching';
    return (volume.attachments ?? []).some(isHere) ? { owns: false } : undefined;
  }

  #reachesRecord(record: EffectRecord, verb: string): boolean {
    const share = this.#share(record);
    if (!share) return false;
    return verb !== 'delete' || isAgentsAlone(record, this.#node, share.owns);
  }

  #withheldOfRecord(
    before: EffectRecord | undefined,
    after: EffectRecord,
  ): readonly FieldViolation[] {
    const node = this.#node;
    const share = this.#share(after);
    if (share) return withheldOfRecord({ node, before, after }, share.owns);
    return [
      { field: 'key', description: `does not belong to a volume that node ${node} attaches` },
    ];
  }

  /** Whether a snapshot is on this node. A snapshot without a recorded node is on the node of its source. */
  #has(snapshot: Snapshot): boolean {
    const home = homeOf(snapshot);
    if (home !== undefined) return home === this.#node;
    const { namespace, source, sourceUid } = snapshot;
    const volume = this.#facts.volumes.get(`${namespace}/${source.volume}`);
    return volume !== undefined && volume.metadata.uid === sourceUid && this.#owns(volume);
  }

  /** Whether an event is about an object of this node, and in the namespace of such events. */
  #isAboutThisNode({ regarding, namespace: where }: Event): boolean {
    const { kind, namespace = '', name } = regarding;
    const key = `${namespace}/${name}`;
    if (kind === 'Node') return name === this.#node && where === 'default';
    if (where !== namespace) return false;
    if (kind === 'Instance') return this.#facts.instances.get(key)?.node === this.#node;
    if (kind === 'Snapshot') {
      const snapshot = this.#facts.snapshots.get(key);
      return snapshot !== undefined && this.#has(snapshot);
    }
    const volume = kind === 'Volume' ? this.#facts.volumes.get(key) : undefined;
    return volume !== undefined && this.#reaches(volume);
  }

  #isClaimHere(claim: string, volume: Volume): boolean {
    const instance = this.#facts.instances.get(claim);
    if (instance?.node !== this.#node) return false;
    return mountedVolumes(instance).includes(keyString(volume));
  }

  async #takesNoCredentials({ driver = '' }: Volume | Snapshot): Promise<boolean> {
    const found = await this.#facts.drivers.get(driver);
    return found?.capabilities().sensitiveParameters.length === 0;
  }

  /** Secrets that driver calls of the volume may need: with its class, and with what was captured once it is gone. */
  #referred(volume: Volume): readonly string[] {
    const storageClass = liveClass(volume, this.#facts.storageClasses.get(volume.storageClassName));
    const { declaredCredentials: credentials = new Map() } = this.#facts.drivers;
    return [
      ...secretsWithClass(volume, storageClass, credentials),
      ...secretsWithoutClass(volume, credentials),
    ];
  }
}

/** Restricts the tokens of agents to the objects of their node. */
export function nodeRestriction(manager: Manager, drivers: DriverRegistry): ObjectAccess {
  const bound = manager.informer(instances);
  bound.addIndex(boundTo, ({ node }) => (node === undefined ? [] : [node]));
  bound.addIndex(mountedOn, (instance) => {
    const { node } = instance;
    return node === undefined ? [] : mountedVolumes(instance).map((key) => mountOf(node, key));
  });
  manager.informer(volumes).addIndex(heldBy, nodesOf);
  const facts: Facts = {
    instances: bound.lister,
    volumes: manager.informer(volumes).lister,
    snapshots: manager.informer(snapshots).lister,
    storageClasses: manager.informer(storageClasses).lister,
    drivers,
  };
  return {
    filterFor: (identity: Identity) =>
      identity.node === undefined ? undefined : new NodeFilter(identity.node, facts),
  };
}
