import { type Driver, DriverError, type Parameters } from '@kedge/driver-sdk';
import type { Node } from '../../node/kind.js';
import type { Snapshot } from '../../snapshot/kind.js';
import type { StorageClass } from '../../storage-class/kind.js';
import {
  chooseTopology,
  namedTopology,
  type TopologyChoice,
} from '../../storage-class/topology.js';
import type { Volume } from '../kind.js';
import { homeOf } from '../../provisioned/owner.js';

/**
 * The topology of a new volume: the node of its snapshot, else the node of its first attempt or of this process if
 * allowed.
 */
export function choosePlace(
  volume: Volume,
  storageClass: StorageClass,
  all: readonly Node[],
  driver: Driver,
  source: Snapshot | undefined,
  here: string,
  parameters: Parameters,
): TopologyChoice {
  const rules = driver.capabilities();
  const named = namedTopology(parameters, rules.placeParameters).labels;
  const home = source && homeOf(source);
  if (home === undefined)
    return chooseTopology(storageClass, all, rules, homeOf(volume) ?? here, named);
  const there = all.filter(({ name }) => name === home);
  const choice = chooseTopology(storageClass, there, rules, home);
  if (choice.type === 'node' && there.length > 0) return choice;
  const why = there.length > 0 ? `allowedTopologies of class "${storageClass.name}"` : 'its name';
  const message = `its snapshot is on node "${home}", and that node does not match ${why}; start kedged there, or use another class`;
  return { type: 'none', message };
}

/**
 * Requires the driver of the first attempt, because that driver may have created resources.
 * @throws DriverError InvalidParameters if the class has another driver now
 */
export function requireSameDriver({ driver = '' }: Volume, storageClass: StorageClass): void {
  if (driver === '' || driver === storageClass.driver) return;
  throw new DriverError(
    'InvalidParameters',
    `its class "${storageClass.name}" now has driver ${storageClass.driver}, and provisioning was started with ${driver}; delete the volume and create it again`,
  );
}
