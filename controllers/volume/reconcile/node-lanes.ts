import { isDeleting, keyString, type SharedInformer } from 'kedge';
import type { DriverRegistry } from '@kedge/driver-sdk';
import { liveClass } from '../../references/live-class.js';
import type { StorageClass } from '../../storage-class/kind.js';
import type { Volume } from '../kind.js';

/** Lanes of a class whose data is on nodes. */
const lanes = 4;
/** With more classes on nodes than this none has lanes, so that calls that hang can't occupy all workers. */
const classesMax = 4;

const onNodes = 'data is on nodes';

/**
 * The groups of concurrent reconciles. The group of a volume is its class, with one exception. A class whose data is on
 * nodes, according to {@link DriverRegistry.onNodes}, has lanes, so that more of its volumes share the syncs of the store
 * and of the storage root. No volume with a source is in a lane, because its data may be copied, and none that is being
 * deleted, because its files may be many.
 */
export class NodeLanes {
  readonly #classes: SharedInformer<StorageClass>;
  readonly #drivers: DriverRegistry;

  constructor(classes: SharedInformer<StorageClass>, drivers: DriverRegistry) {
    this.#classes = classes;
    this.#drivers = drivers;
    classes.addIndex(onNodes, (storageClass) => (this.#isOnNodes(storageClass) ? [''] : []));
  }

  /**
   * The group of a volume; the empty text without a volume. It changes with the volume, with its class, and with the
   * number of classes on nodes.
   */
  groupOf(volume: Volume | undefined): string {
    if (!volume) return '';
    const { storageClassName: name, source } = volume;
    if (source || isDeleting(volume)) return name;
    const { lister } = this.#classes;
    const storageClass = liveClass(volume, lister.get(name));
    if (!storageClass || !this.#isOnNodes(storageClass)) return name;
    if (lister.byIndex(onNodes, '').length > classesMax) return name;
    return `${name} ${sumOf(keyString(volume)) % lanes}`;
  }

  #isOnNodes({ driver }: StorageClass): boolean {
    return this.#drivers.onNodes?.includes(driver) === true;
  }
}

function sumOf(key: string): number {
  let sum = 0;
  for (let at = 0; at < key.length; at += 1) sum += key.charCodeAt(at);
  return sum;
}
