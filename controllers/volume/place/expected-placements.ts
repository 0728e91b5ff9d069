import { isDeleting, keyString, type Lister } from 'kedge';
import type { Instance } from '../../instance/kind.js';
import { isNeedy } from '../../resources/index.js';

interface Expected {
  readonly instance: Instance;
  readonly node: string;
  readonly at: number;
}

/** Time for which an instance may be missing from the cache before it counts as deleted, milliseconds. */
const missingMs = 60_000;

/**
 * The nodes on which instances are expected to run whose volumes have a place, but that are not placed yet: they wait
 * for their volumes. Without it, the volumes of replicas that are created at once would all get the place of one node,
 * which has room for one of them. In memory, as a preference only.
 */
export class ExpectedPlacements {
  readonly #byUid = new Map<string, Expected>();
  /** Remembers where an instance will run. Instances without requirements on a node are ignored. */
  expect(instance: Instance, node: string, at: number): void {
    if (isNeedy(instance.template)) this.#byUid.set(instance.metadata.uid, { instance, node, at });
  }

  /** Forgets instances that are placed or deleted. */
  forgetEnded(instances: Lister<Instance>, now: number): void {
    for (const [uid, { instance, at }] of this.#byUid) {
      const found = instances.get(keyString(instance));
      const isOld = now - at > missingMs;
      const isOther = found ? found.metadata.uid !== uid : isOld;
      if (isOther || (found && (found.node !== undefined || isDeleting(found))))
        this.#byUid.delete(uid);
    }
  }

  /** The instances that are expected on a node, without one of them. */
  on(node: string, except: Instance): readonly Instance[] {
    const others: Instance[] = [];
    for (const [uid, expected] of this.#byUid)
      if (expected.node === node && uid !== except.metadata.uid) others.push(expected.instance);
    return others;
  }
}
