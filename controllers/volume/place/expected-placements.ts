import { isDeleting, keyString, type Lister } from 'kedge';
import type { Instance } from '../../instance/kind.js';
import { isNeedy } from '../../resources/index.js';

interface Expected {
  readonly instance: Instance;
  readonly node: string;
  readonly at: number;
  /** Whether the cache has had the instance: it is deleted if it is missing now. */
  readonly isCached: boolean;
}

/** Time for which an instance that the cache never had may be missing before it counts as deleted, milliseconds. */
const missingMs = 60_000;

/** Whether the cache has an instance, and not another one of its name. */
function has(instances: Lister<Instance>, instance: Instance): boolean {
  return instances.get(keyString(instance))?.metadata.uid === instance.metadata.uid;
}

/**
 * The nodes on which unplaced instances are expected to run, because one of their volumes has a place there. Without
 * this memory, the volumes of replicas that are created at once would all get the place of one node, which has room for
 * one of them. Only a preference; it is not stored.
 */
export class ExpectedPlacements {
  readonly #byUid = new Map<string, Expected>();
  readonly #byNode = new Map<string, Map<string, Instance>>();

  /** Remembers where an instance will run. Instances without requirements on a node are ignored. */
  expect(instance: Instance, node: string, at: number, instances: Lister<Instance>): void {
    if (!isNeedy(instance.template)) return;
    const { uid } = instance.metadata;
    this.#forget(uid);
    this.#byUid.set(uid, { instance, node, at, isCached: has(instances, instance) });
    const there = this.#byNode.get(node) ?? new Map<string, Instance>();
    this.#byNode.set(node, there.set(uid, instance));
  }

  #forget(uid: string): void {
    const node = this.#byUid.get(uid)?.node ?? '';
    const there = this.#byNode.get(node);
    there?.delete(uid);
    if (there?.size === 0) this.#byNode.delete(node);
    this.#byUid.delete(uid);
  }

  /** Forgets instances that are placed or deleted. */
  forgetEnded(instances: Lister<Instance>, now: number): void {
    for (const [uid, expected] of this.#byUid) {
      const { instance, at, isCached } = expected;
      const found = instances.get(keyString(instance));
      const isGone = found ? found.metadata.uid !== uid : isCached || now - at > missingMs;
      if (isGone || (found && (found.node !== undefined || isDeleting(found)))) this.#forget(uid);
      else if (found && !isCached) this.#byUid.set(uid, { ...expected, isCached: true });
    }
  }

  /** The instances that are expected on a node, without one of them. */
  on(node: string, except: Instance): readonly Instance[] {
    const there = [...(this.#byNode.get(node)?.values() ?? [])];
    return there.filter(({ metadata }) => metadata.uid !== except.metadata.uid);
  }
}
