import type { HandleRequest } from './driver.js';
import { DriverError } from '../errors/errors.js';

/** One way to find a provider's instances by the name of a node. */
export interface InstanceLookup {
  /** The compared property for messages, such as `private DNS name`. */
  readonly by: string;
  /** Returns the ids of the matching instances. Duplicates count once. */
  readonly find: (request: HandleRequest) => Promise<readonly string[]>;
}

/** The mapping between a provider's instances and nodes. */
export interface NodeInstances {
  /** The lookups in order. The first one that finds an instance decides. */
  readonly lookups: readonly InstanceLookup[];
  /** Returns the searched place for error messages, such as `the team of the token at DigitalOcean`. */
  readonly place: (request: HandleRequest) => string;
  /** Returns the message for a node without an instance. Absent: names the node, the place and the lookups. */
  readonly absent?: (request: HandleRequest) => string;
}

/**
 * Returns the id of a node's instance; undefined when no lookup finds one (specification section 2.5).
 * @throws DriverError InvalidParameters when a lookup finds several (rule 11), because one of them may belong to others
 */
export async function findInstance(
  request: HandleRequest,
  { lookups, place }: NodeInstances,
): Promise<string | undefined> {
  for (const { by, find } of lookups) {
    const [first, ...others] = new Set(await find(request));
    if (first === undefined) continue;
    if (others.length === 0) return first;
    const found = [first, ...others].sort().join(', ');
    throw new DriverError(
      'InvalidParameters',
      `${others.length + 1} instances in ${place(request)} match node "${request.node}" by ${by}: ${found}; give each instance a unique name`,
    );
  }
  return undefined;
}

/** Like {@link findInstance}. @throws DriverError InvalidParameters also when no lookup finds one (rule 11) */
export async function requireInstance(
  request: HandleRequest,
  instances: NodeInstances,
): Promise<string> {
  const found = await findInstance(request, instances);
  if (found !== undefined) return found;
  if (instances.absent) throw new DriverError('InvalidParameters', instances.absent(request));
  const ways = instances.lookups.map(({ by }) => by).join(', ');
  throw new DriverError(
    'InvalidParameters',
    `no instance in ${instances.place(request)} is node "${request.node}" (looked up by ${ways}); use the name of its instance as the node name, or a storage class of its location`,
  );
}
