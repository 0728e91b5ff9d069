import { isDeleting, keyString, type Lister } from 'kedge';
import type { Instance } from '../../instance/kind.js';
import { isNeedy } from '../../resources/index.js';

interface Expected {
  readonly instance: Instance;
  readonly node: string;
  /** Monotonic time, milliseconds. */
  readonly at: number;
  /** Whether the cache has had the instance: it is deleted if it is missing now. */
  readonly isCached: boolean;
}

/** Time after which a nomination that is not in the cache counts as not written, milliseconds. */
const unwrittenMs = 60_000;

/** Whether the cache has an instance, and not another one of its name. */
function has(instances: Lister<Instance>, instance: Instance): boolean {
  return instances.get(keyString(instance))?.metadata.uid === instance.metadata.uid;
}

/**
 * The nodes for which instances are being nominated, until the cache has the nomination. Without it, the volumes of
 * replicas that are created at once would all get the place of one node, which has room for one of them.
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

  /**
   * Forgets instances whose nomination is in the cache, that are placed or deleted, or whose nomination was not written
   * in time.
   */
  forgetEnded(instances: Lister<Instance>, now: number): void {
    for (const [uid, expected] of this.#byUid) {
      const { instance, node, at, isCached } = expected;
      const found = instances.get(keyString(instance));
      const isGone = found ? found.metadata.uid !== uid || isDeleting(found) : isCached;
      const isWritten = found?.nominatedNode === node || found?.node !== undefined;
      if (isGone || isWritten || now - at > unwrittenMs) this.#forget(uid);
      else if (found && !isCached) this.#byUid.set(uid, { ...expected, isCached: true });
    }
  }

  /** The instances that are being nominated for a node. */
  on(node: string): readonly Instance[] {
    return [...(this.#byNode.get(node)?.values() ?? [])];
  }
}
