import type { Node } from '@kedge/api/kinds';
import { locationMissing, provisionedFirst, reachableFrom } from '../../messages/placement.js';
import { command, patchOf } from '../commands.js';
import { type Remedy, run, set, wait } from '../remedy.js';
import type { About } from '../world.js';

type Labels = Readonly<Record<string, string>>;

/** The required labels that a node lacks, with their values. */
function lacking({ labels = {} }: Node, wanted: Labels): readonly (readonly [string, string])[] {
  return Object.entries(wanted).filter(([key, value]) => labels[key] !== value);
}

/** The labels of the place of a node: a machine does not get to another place by a label. */
const placeLabels: readonly string[] = ['svc.io/region', 'svc.io/zone'];

/** Whether a node has the label of another place: a change would cut it off from its volumes. */
function isElsewhere({ labels = {} }: Node, wanted: Labels): boolean {
  return placeLabels.some(
    (key) => wanted[key] !== undefined && labels[key] !== undefined && labels[key] !== wanted[key],
  );
}

/** The command that labels a node with the required labels. */
function labelCommand(node: string, labels: readonly (readonly [string, string])[]): string {
  const pairs = labels.map(([key, value]) => `${key}=${value}`).join(' ');
  return `kedge label node/${node} ${pairs} --overwrite`;
}

function labelsText({ labels = {} }: Node): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return pairs.join(', ') || 'none';
}

/** Returns the node that lacks the fewest labels, first one that is not elsewhere; undefined if there are no nodes. */
function nearest(nodes: readonly Node[], wanted: Labels): Node | undefined {
  const distance = (node: Node): number =>
    lacking(node, wanted).length + (isElsewhere(node, wanted) ? 1_000 : 0);
  return [...nodes].sort((a, b) => distance(a) - distance(b))[0];
}

/**
 * Returns the remedy if a message reports a volume as reachable only from nodes with labels that no node has; undefined
 * otherwise.
 * @param otherwise a command for users who do not want to wait for such a node, with its purpose
 */
function reachedBy(
  nodes: readonly Node[],
  message: string,
  otherwise: readonly [string, string],
): Remedy | undefined {
  const [reached] = reachableFrom.readAll(message).filter(({ labels }) => labels.length > 0);
  if (!reached) return undefined;
  const labels = reached.labels.map((pair) => {
    const [key = '', value = ''] = pair.split('=', 2);
    return [key, value] as const;
  });
  const wanted = Object.fromEntries(labels);
  // Something else keeps the instance from such a node, usually nodeSelector. A label would not change that.
  if (nodes.some((each) => lacking(each, wanted).length === 0)) return undefined;
  const node = nearest(nodes, wanted);
  if (!node) return undefined;
  if (isElsewhere(node, wanted))
    return wait(
      `a node with ${reached.labels.join(', ')}, where volume ${reached.volume} is,`,
      'once such a node is Ready',
      ...otherwise,
    );
  return run(
    labelCommand(node.name, labels),
    `start kedged on a node with the labels of volume ${reached.volume}; or, if node ${node.name} is there, label it`,
  );
}

/** The remedy for an instance that fits no node. */
export function noNodeFits(about: About<'Instance'>): Remedy {
  const { object, world } = about;
  const { namespace, service, template } = object;
  const named = { namespace, name: service };
  const freed = patchOf('service', named, { nodeSelector: null });
  const ready = world.nodes.filter(({ status }) => status === 'Ready');
  const [closed] = ready.filter(({ unschedulable }) => unschedulable);
  const open = ready.filter(({ unschedulable }) => !unschedulable);
  if (open.length === 0 && closed)
    return run(
      patchOf('node', { name: closed.name }, { unschedulable: false }),
      `node ${closed.name} is Ready but unschedulable: make it schedulable`,
    );
  if (open.length === 0)
    return wait(
      'a node that is Ready',
      'once kedged runs on a node',
      'systemctl start kedged',
      'on the machine of a node, to start kedged',
    );
  const wanted = template.nodeSelector ?? {};
  const node = nearest(open, wanted);
  const missing = node ? lacking(node, wanted) : [];
  if (node && missing.length > 0) {
    const labels = open.map((each) => `${each.name} has ${labelsText(each)}`).join('; ');
    if (isElsewhere(node, wanted))
      return run(
        freed,
        `no node is in the place of its nodeSelector (${labels}): start kedged on a node there, or remove nodeSelector from service ${namespace}/${service}`,
      );
    return run(
      labelCommand(node.name, missing),
      `no node has the labels of its nodeSelector (${labels}); to remove nodeSelector from service ${namespace}/${service}: ${freed}; or label node ${node.name}`,
    );
  }
  const isRestricted = Object.keys(wanted).length > 0;
  const [otherwise, purpose] = isRestricted
    ? [freed, 'to remove its nodeSelector']
    : [command('scale', 'service', named, '--replicas 0'), 'to stop waiting'];
  const awaited = provisionedFirst.read(about.message)?.volume;
  if (awaited !== undefined)
    return wait(`volume ${awaited}`, 'once the volume is provisioned', otherwise, purpose);
  const reached = reachedBy(open, about.message, [otherwise, purpose]);
  if (reached) return reached;
  if (!isRestricted)
    return wait(
      'a node that reaches all its volumes',
      'once such a node is Ready',
      otherwise,
      purpose,
    );
  return run(
    freed,
    `the nodes that its nodeSelector matches can't reach its volumes: remove nodeSelector from service ${namespace}/${service}`,
  );
}

/** The remedy for a volume without a suitable node: its class lacks a location, or `allowedTopologies` matches no node. */
export function topologyUnsatisfied({ object, world, message }: About<'Volume'>): Remedy {
  const { storageClassName: name } = object;
  const { parameters: [parameter] = [], labels: places = [] } = locationMissing.read(message) ?? {};
  const node = world.nodes[0]?.name ?? 'NODE';
  if (parameter !== undefined)
    return set(
      `parameters.${parameter} of storage class ${name}`,
      'the location of its volumes',
      `kedge edit storageclass/${name}`,
      `or label each node with its location: kedge label node/${node} ${places.map((label) => `${label}=LOCATION`).join(' ')}`,
    );
  const storageClass = world.storageClasses.find((each) => each.name === name);
  const [selector] = storageClass?.allowedTopologies ?? [];
  const expressions = (selector?.matchExpressions ?? [])
    .filter(({ operator }) => operator === 'In')
    .map(({ key, values = [] }) => [key, values[0] ?? ''] as const);
  const wanted = Object.fromEntries([
    ...Object.entries(selector?.matchLabels ?? {}),
    ...expressions,
  ]);
  const near = nearest(world.nodes, wanted);
  const missing = near ? lacking(near, wanted) : [];
  const widened = patchOf('storageclass', { name }, { allowedTopologies: null });
  if (!near || missing.length === 0)
    return run(widened, `permit storage class ${name} on all nodes`);
  if (isElsewhere(near, wanted))
    return run(
      widened,
      `no node is in the places that allowedTopologies of storage class ${name} permits: start kedged on a node there, or permit the class on all nodes`,
    );
  return run(
    labelCommand(near.name, missing),
    `no node has the labels that allowedTopologies of storage class ${name} requires: remove allowedTopologies (${widened}), or label node ${near.name}`,
  );
}
