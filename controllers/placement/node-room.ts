import { keyString } from 'kedge';
import type { Instance, InstanceTemplate } from '../instance/kind.js';
import type { Node } from '../node/kind.js';
import {
  capacityOf,
  portLabel,
  type ResourceRequests,
  requestsOf,
  takenPorts,
} from '../resources/index.js';
import { portReservedFor, portTakenBy, roomReservedFor, shortage } from '../messages/placement.js';

/** The resources that instances request of a node, and their host ports. */
export interface NodeUse extends ResourceRequests {
  /** The instance that uses a port, by port and protocol, such as `80/TCP`. */
  readonly ports: ReadonlyMap<string, Instance>;
  /** The first of the instances that are not placed, for which room is reserved. */
  readonly reserving?: Instance;
  /** The part of the requests that is reserved for instances that are not placed. */
  readonly reserved: ResourceRequests;
}

/** The resources or the port that a node lacks for an instance. */
export interface Shortage {
  readonly reason: 'InsufficientResources' | 'HostPortTaken';
  readonly message: string;
}

/** The requirements of a template on a node, which are compared with many nodes. */
interface Needs {
  readonly requests: ResourceRequests;
  /** Such as `80/TCP`. */
  readonly ports: readonly string[];
}

const known = new WeakMap<InstanceTemplate, Needs>();

function needsOf(template: InstanceTemplate): Needs {
  let needs = known.get(template);
  if (!needs) {
    const ports = takenPorts(template).map(({ hostPort, protocol }) =>
      portLabel(hostPort, protocol),
    );
    needs = { requests: requestsOf(template), ports };
    known.set(template, needs);
  }
  return needs;
}

const capacities = new WeakMap<NonNullable<Node['capacity']>, Partial<ResourceRequests>>();

/** The capacity of a node. It is compared with many instances. */
function totalsOf(given: Node['capacity'] = {}): Partial<ResourceRequests> {
  let totals = capacities.get(given);
  if (!totals) {
    totals = capacityOf(given);
    capacities.set(given, totals);
  }
  return totals;
}

type Writable<T> = { -readonly [Field in keyof T]: T[Field] };

type Sum = Writable<Omit<NodeUse, 'ports' | 'reserved'>> & {
  readonly reserved: Writable<ResourceRequests>;
  readonly ports: Map<string, Instance>;
};

function add(use: Sum, instance: Instance): void {
  const { requests, ports } = needsOf(instance.template);
  use.cpuMillis += requests.cpuMillis;
  use.memoryBytes += requests.memoryBytes;
  use.pids += requests.pids;
  for (const port of ports) use.ports.set(port, instance);
  if (instance.node !== undefined) return;
  use.reserving ??= instance;
  use.reserved.cpuMillis += requests.cpuMillis;
  use.reserved.memoryBytes += requests.memoryBytes;
  use.reserved.pids += requests.pids;
}

function sumOf(instances: readonly Instance[]): Sum {
  const none = { cpuMillis: 0, memoryBytes: 0, pids: 0 };
  const use: Sum = { ...none, reserved: { ...none }, ports: new Map<string, Instance>() };
  for (const instance of instances) add(use, instance);
  return use;
}

const unused: NodeUse = sumOf([]);

/** Sums the resource requests of the instances of a node, and collects their host ports. */
export function useOf(instances: readonly Instance[]): NodeUse {
  return instances.length === 0 ? unused : sumOf(instances);
}

/** Some instances of a node, and those of others that fit besides them, in their order. None is counted twice. */
export function withFitting(
  node: Pick<Node, 'name' | 'capacity'>,
  instances: readonly Instance[],
  others: readonly Instance[],
): readonly Instance[] {
  if (others.length === 0) return instances;
  const use = sumOf(instances);
  const counted = new Set(instances.map(({ metadata }) => metadata.uid));
  const fitting = others.filter((each) => {
    if (counted.has(each.metadata.uid)) return false;
    if (shortageOf(each, node, use)) return false;
    add(use, each);
    return true;
  });
  return [...instances, ...fitting];
}

const binarySteps = [
  ['Gi', 2 ** 30],
  ['Mi', 2 ** 20],
  ['Ki', 2 ** 10],
] as const;

/** Writes bytes with a unit, rounded down, so that the reported free amount can be requested. */
function bytesText(bytes: number): string {
  for (const [suffix, unit] of binarySteps)
    if (bytes >= 10 * unit || (bytes >= unit && bytes % unit === 0))
      return `${Math.floor(bytes / unit)}${suffix}`;
  return String(bytes);
}

function cpuText(millis: number): string {
  return millis % 1_000 === 0 ? String(millis / 1_000) : `${millis}m`;
}

const resources = [
  ['cpuMillis', 'cpu', cpuText],
  ['memoryBytes', 'memory', bytesText],
  ['pids', 'pids', String],
] as const;

function reservation(instance: Instance): string {
  return ` (${roomReservedFor.format({ instance: keyString(instance) })})`;
}

function portMessage(port: string, node: string, holder: Instance): string {
  const form = holder.node === undefined ? portReservedFor : portTakenBy;
  return form.format({ port, node, instance: keyString(holder) });
}

/** Returns the shortage of a node for another instance in addition to those in `use`; undefined if it fits. */
export function shortageOf(
  { template }: Pick<Instance, 'template'>,
  node: Pick<Node, 'name' | 'capacity'>,
  use: NodeUse,
): Shortage | undefined {
  const { requests, ports } = needsOf(template);
  const capacity = totalsOf(node.capacity);
  let isReserved = true;
  const lacking = resources.flatMap(([field, name, text]) => {
    const total = capacity[field];
    const wanted = requests[field];
    if (wanted === 0 || total === undefined || use[field] + wanted <= total) return [];
    // Without its reservations the node has too little as well: they are not the cause.
    if (use[field] - use.reserved[field] + wanted > total) isReserved = false;
    const free = text(Math.max(0, total - use[field]));
    const requested = text(wanted);
    return [shortage.format({ free, total: text(total), resource: name, requested })];
  });
  if (lacking.length > 0)
    return {
      reason: 'InsufficientResources',
      message: `node ${node.name} has ${lacking.join(' and ')}${isReserved && use.reserving ? reservation(use.reserving) : ''}`,
    };
  for (const port of ports) {
    const instance = use.ports.get(port);
    if (instance !== undefined)
      return {
        reason: 'HostPortTaken',
        message: portMessage(port, node.name, instance),
      };
  }
  return undefined;
}

/**
 * Returns the utilization of a node with another instance: the largest requested share of a resource, 0 to 1. It is
 * larger only if the capacity of the node has decreased.
 */
export function fullnessWith(
  { template }: Pick<Instance, 'template'>,
  { capacity: given }: Pick<Node, 'capacity'>,
  use: NodeUse,
): number {
  const { requests } = needsOf(template);
  const capacity = totalsOf(given);
  const shares = resources.map(([field]) => {
    const total = capacity[field] ?? 0;
    return total === 0 ? 0 : (use[field] + requests[field]) / total;
  });
  return Math.max(...shares);
}
