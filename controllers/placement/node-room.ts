import { keyString } from 'kedge';
import type { Instance } from '../instance/kind.js';
import type { Node } from '../node/kind.js';
import {
  capacityOf,
  portLabel,
  type ResourceRequests,
  requestsOf,
  takenPorts,
} from '../resources/index.js';
import { portTakenBy, shortage } from '../messages/placement.js';

/** The resources that placed instances request of a node, and their host ports. */
export interface NodeUse extends ResourceRequests {
  /** The instance that uses a port, by port and protocol, such as `80/TCP`. */
  readonly ports: ReadonlyMap<string, string>;
}

/** The resources or the port that a node lacks for an instance. */
export interface Shortage {
  readonly reason: 'InsufficientResources' | 'HostPortTaken';
  readonly message: string;
}

/** Sums the resource requests of the instances placed on a node, and collects their host ports. */
export function useOf(placed: readonly Instance[]): NodeUse {
  const ports = new Map<string, string>();
  let [cpuMillis, memoryBytes, pids] = [0, 0, 0];
  for (const instance of placed) {
    const requests = requestsOf(instance.template);
    cpuMillis += requests.cpuMillis;
    memoryBytes += requests.memoryBytes;
    pids += requests.pids;
    for (const { hostPort, protocol } of takenPorts(instance.template))
      ports.set(portLabel(hostPort, protocol), keyString(instance));
  }
  return { cpuMillis, memoryBytes, pids, ports };
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

/** Returns the shortage of a node for another instance in addition to the placed ones; undefined if it fits. */
export function shortageOf(
  { template }: Pick<Instance, 'template'>,
  node: Pick<Node, 'name' | 'capacity'>,
  use: NodeUse,
): Shortage | undefined {
  const requests = requestsOf(template);
  const capacity = capacityOf(node.capacity);
  const lacking = resources.flatMap(([field, name, text]) => {
    const total = capacity[field];
    const wanted = requests[field];
    if (wanted === 0 || total === undefined || use[field] + wanted <= total) return [];
    const free = text(Math.max(0, total - use[field]));
    const requested = text(wanted);
    return [shortage.format({ free, total: text(total), resource: name, requested })];
  });
  if (lacking.length > 0)
    return {
      reason: 'InsufficientResources',
      message: `node ${node.name} has ${lacking.join(' and ')}`,
    };
  for (const { hostPort, protocol } of takenPorts(template)) {
    const port = portLabel(hostPort, protocol);
    const instance = use.ports.get(port);
    if (instance !== undefined)
      return {
        reason: 'HostPortTaken',
        message: portTakenBy.format({ port, node: node.name, instance }),
      };
  }
  return undefined;
}

/** Returns the utilization of a node with another instance: the largest requested share of a resource, 0 to 1. */
export function fullnessWith(
  { template }: Pick<Instance, 'template'>,
  { capacity: given }: Pick<Node, 'capacity'>,
  use: NodeUse,
): number {
  const requests = requestsOf(template);
  const capacity = capacityOf(given);
  const shares = resources.map(([field]) => {
    const total = capacity[field] ?? 0;
    return total === 0 ? 0 : (use[field] + requests[field]) / total;
  });
  return Math.max(...shares);
}
