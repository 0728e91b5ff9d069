import { type Capabilities, type Driver, DriverError, type Parameters } from '@kedge/driver-sdk';
import type { Instance } from '../../instance/kind.js';
import type { Node } from '../../node/kind.js';
import type { Snapshot } from '../../snapshot/kind.js';
import type { StorageClass } from '../../storage-class/kind.js';
import {
  chooseTopology,
  labelsOf,
  namedTopology,
  topologyAllows,
  type TopologyChoice,
} from '../../storage-class/topology.js';
import type { Volume } from '../kind.js';
import type { UserNodes } from './user-nodes.js';
import { homeOf } from '../../provisioned/owner.js';
import { isAt } from '../../placement/index.js';

type Labels = Readonly<Record<string, string>>;

/** The inputs of the choice of a topology. */
export interface PlaceInputs {
  readonly volume: Volume;
  readonly storageClass: StorageClass;
  readonly nodes: readonly Node[];
  readonly driver: Pick<Driver, 'capabilities'>;
  /** The parameters with resolved secret references. */
  readonly parameters: Parameters;
  /** The node of this process. */
  readonly here: string;
  /**
   * The instances that mount the volume, each with the nodes on which it can run. Those that can run nowhere are
   * omitted.
   */
  readonly users: readonly UserNodes[];
  /** The number of users for which nodes have room at the same time. */
  readonly fitting: (nodes: readonly Node[]) => number;
  /** Topologies without capacity. */
  readonly exhausted: readonly Labels[];
}

/** The labels that a driver requires and that no parameter names: the volume gets them from a node. */
export function openLabels(
  { placeParameters, requiredTopologyKeys = [] }: Capabilities,
  parameters: Parameters,
): readonly string[] {
  const named = namedTopology(parameters, placeParameters).labels;
  return requiredTopologyKeys.filter((key) => named[key] === undefined);
}

/** The part of some labels with these keys. */
export function labelsAt(keys: readonly string[], labels: Labels = {}): Labels {
  return Object.fromEntries(
    keys.flatMap((key) => (labels[key] === undefined ? [] : [[key, labels[key]]])),
  );
}

/** The places of nodes, by the labels that name a place. Objects never change, and each volume asks for all nodes. */
const places = new WeakMap<Node, Map<string, string>>();

/** The place of a node as text. */
function placeOf(node: Node, open: readonly string[]): string {
  const known = places.get(node) ?? new Map<string, string>();
  const by = open.join(' ');
  let place = known.get(by);
  if (place === undefined) {
    place = JSON.stringify(labelsAt(open, labelsOf(node)));
    places.set(node, known.set(by, place));
  }
  return place;
}

/** Whether an instance can be placed on a node now. */
function isOpenTo({ status, unschedulable }: Node): boolean {
  return status === 'Ready' && unschedulable !== true;
}

/**
 * The nodes whose places all users of a volume reach, or as many users as possible if they contradict each other. All
 * nodes if no user can run anywhere.
 */
function reachable({ nodes, users }: PlaceInputs, open: readonly string[]): readonly Node[] {
  const usersAt = new Map<string, number>();
  for (const { nodes: usable } of users)
    for (const place of new Set(usable.map((node) => placeOf(node, open))))
      usersAt.set(place, (usersAt.get(place) ?? 0) + 1);
  const most = Math.max(0, ...usersAt.values());
  return most === 0 ? nodes : nodes.filter((node) => usersAt.get(placeOf(node, open)) === most);
}

/**
 * A number that spreads instances over places: it increases by one with the ordinal of a replica, and depends on the
 * service.
 */
function turnOf({ namespace, service, ordinal }: Instance): number {
  let hash = 0;
  for (const character of `${namespace}/${service}`)
    hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 1_000_003;
  return hash + ordinal;
}

/**
 * The nodes of the places in which most users of a volume have room at the same time. If no user has room anywhere, the
 * nodes of one place, which differs among the replicas of a service: room may become free in any of them. All given
 * nodes without users, or if they are in one place.
 */
function withMostRoom(
  { users, fitting }: PlaceInputs,
  open: readonly string[],
  nodes: readonly Node[],
): readonly Node[] {
  const [user] = users;
  const nodesAt = new Map<string, Node[]>();
  for (const node of nodes) {
    const place = placeOf(node, open);
    const there = nodesAt.get(place);
    if (there) there.push(node);
    else nodesAt.set(place, [node]);
  }
  if (!user || nodesAt.size < 2) return nodes;
  const rooms = [...nodesAt.values()].map((there) => ({ there, count: fitting(there) }));
  const most = Math.max(...rooms.map(({ count }) => count));
  if (most > 0) return rooms.flatMap(({ there, count }) => (count === most ? there : []));
  const sorted = [...nodesAt].sort(([a], [b]) => (a < b ? -1 : 1));
  return sorted[turnOf(user.instance) % sorted.length]?.[1] ?? nodes;
}

/**
 * The nodes whose place a volume may get: its class permits them, they match the labels that its parameters name, and
 * they have every label that the volume gets from a node. All nodes if there are no such nodes, or if the volume gets
 * no label from a node.
 */
export function permittedNodes(
  nodes: readonly Node[],
  { allowedTopologies }: StorageClass,
  rules: Capabilities,
  parameters: Parameters,
): readonly Node[] {
  const { labels: named } = namedTopology(parameters, rules.placeParameters);
  const open = openLabels(rules, parameters);
  if (open.length === 0) return nodes;
  const permitted = nodes.filter((node) => {
    const labels = labelsOf(node);
    const isComplete = open.every((key) => labels[key] !== undefined);
    return isComplete && isAt(node, named) && topologyAllows(allowedTopologies, labels);
  });
  return permitted.length > 0 ? permitted : nodes;
}

function chosenFrom(inputs: PlaceInputs, nodes: readonly Node[]): TopologyChoice {
  const { volume, storageClass, driver, parameters, here } = inputs;
  const rules = driver.capabilities();
  const named = namedTopology(parameters, rules.placeParameters).labels;
  return chooseTopology(storageClass, nodes, rules, homeOf(volume) ?? here, named);
}

/**
 * The topology of a new volume. A volume that is restored from a snapshot on a node gets that node. Any other volume of
 * a driver whose data is on nodes gets the node of its first attempt, else that of this process, if its class allows
 * the node. The labels that its driver requires and no parameter names come from a node that its users reach, in this
 * order: the place of the first attempt unless it has no capacity; a place with capacity and a node that is Ready and
 * not cordoned; any place with capacity; any place.
 */
export function choosePlace(inputs: PlaceInputs, source: Snapshot | undefined): TopologyChoice {
  const { volume, nodes, driver, parameters, exhausted } = inputs;
  const home = source && homeOf(source);
  if (home !== undefined) return withSource(inputs, home);
  const open = openLabels(driver.capabilities(), parameters);
  if (open.length === 0) return chosenFrom(inputs, nodes);
  const usable = reachable(inputs, open);
  const free = usable.filter((node) => !exhausted.some((place) => isAt(node, place)));
  const earlier = labelsAt(open, volume.topology);
  const same = Object.keys(earlier).length === 0 ? [] : free.filter((node) => isAt(node, earlier));
  for (const from of [same, free.filter(isOpenTo), free, usable]) {
    const choice =
      from.length > 0 ? chosenFrom(inputs, withMostRoom(inputs, open, from)) : undefined;
    if (choice?.type === 'node') return choice;
  }
  return chosenFrom(inputs, nodes);
}

function withSource(inputs: PlaceInputs, home: string): TopologyChoice {
  const { storageClass, nodes, driver } = inputs;
  const there = nodes.filter(({ name }) => name === home);
  const choice = chooseTopology(storageClass, there, driver.capabilities(), home);
  if (choice.type === 'node' && there.length > 0) return choice;
  const why = there.length > 0 ? `allowedTopologies of class "${storageClass.name}"` : 'its name';
  const message = `its snapshot is on node "${home}", and that node does not match ${why}; start kedged there, or use another class`;
  return { type: 'none', message };
}

/**
 * A topology for a volume whose own has no capacity: one that no parameter excludes, with a node that is Ready, not
 * cordoned, and reached by the users of the volume. Undefined if there is none.
 */
export function otherPlace(
  inputs: PlaceInputs,
): Extract<TopologyChoice, { type: 'node' }> | undefined {
  const { driver, parameters, exhausted } = inputs;
  const rules = driver.capabilities();
  const open = openLabels(rules, parameters);
  if (open.length === 0) return undefined;
  const named = namedTopology(parameters, rules.placeParameters).labels;
  const others = reachable(inputs, open).filter(
    (node) => isOpenTo(node) && isAt(node, named) && !exhausted.some((place) => isAt(node, place)),
  );
  const choice =
    others.length > 0 ? chosenFrom(inputs, withMostRoom(inputs, open, others)) : undefined;
  return choice?.type === 'node' ? choice : undefined;
}

/** Whether two topologies of a volume are different places at its provider. */
export function isElsewhere(
  { topologyKeys }: Pick<Capabilities, 'topologyKeys'>,
  a: Labels = {},
  b: Labels = {},
): boolean {
  return topologyKeys.some((key) => a[key] !== b[key]);
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
