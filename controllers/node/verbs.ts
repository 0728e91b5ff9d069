import { notFound } from 'kedge';
import type { JsonObject } from 'kedge/rpc';
import type { ApiParts, CustomMethod } from 'kedge/server';
import type { DriverRegistry } from '@kedge/driver-sdk';
import { describeMethod, field } from '../description/describe.js';
import { explainStored, hintsOf } from '../description/describe-cause.js';
import { instances } from '../instance/kind.js';
import { volumes } from '../volume/kind.js';
import { nodes } from './kind.js';

const shownMax = 100;

/** The number of the objects that the description of a node omits, and the commands that list all of their kinds. */
export function hintsOfHidden(hidden: readonly { readonly kind: string }[]): readonly string[] {
  const instanceCount = hidden.filter(({ kind }) => kind === 'Instance').length;
  const volumeCount = hidden.length - instanceCount;
  return [
    ...(instanceCount > 0 ? [`instances not shown: ${instanceCount}; kedge get instances -A`] : []),
    ...(volumeCount > 0 ? [`volumes not shown: ${volumeCount}; kedge get volumes -A`] : []),
  ];
}

async function describe(
  parts: ApiParts,
  drivers: DriverRegistry,
  request: JsonObject,
): Promise<JsonObject> {
  const name = String(request.name);
  const node = await parts.store.get(nodes, { name });
  if (!node) throw notFound({ kind: 'Node', name });
  const running = (await parts.store.list(instances)).items.filter((i) => i.node === name);
  const attached = (await parts.store.list(volumes)).items.filter((v) =>
    (v.attachments ?? []).some((attachment) => attachment.node === name),
  );
  const references = [
    ...running.map((i) => ({
      relation: 'runs',
      kind: 'Instance',
      namespace: i.namespace,
      name: i.name,
      status: i.status,
    })),
    ...attached.map((v) => ({
      relation: 'has attached',
      kind: 'Volume',
      namespace: v.namespace,
      name: v.name,
      status: v.status,
    })),
  ];
  const cause = await explainStored(parts.store, drivers, { kind: 'Node', object: node });
  const hints = [...hintsOf(cause)];
  hints.push(...hintsOfHidden(references.slice(shownMax)));
  return {
    kind: 'Node',
    name,
    status: node.status,
    fields: [
      field('Address', node.address),
      field('Unschedulable', node.unschedulable ? 'yes' : undefined),
      field('Version', node.version),
      field('Last heartbeat', node.lastHeartbeatAt),
      ...Object.entries(node.capacity ?? {}).map(([name, value]) =>
        field(`Capacity ${name}`, value),
      ),
      field('Drivers', node.drivers?.join(', ')),
      field('Runtimes', node.runtimes?.join(', ')),
      ...Object.entries(node.labels ?? {}).map(([key, value]) => field(`Label ${key}`, value)),
    ].filter((f) => f !== undefined),
    conditions: node.conditions ?? [],
    references: references.slice(0, shownMax),
    hints,
  };
}

/** Custom methods of nodes. */
export function nodeVerbs(parts: ApiParts, drivers: DriverRegistry): readonly CustomMethod[] {
  return [describeMethod(parts, nodes, (request) => describe(parts, drivers, request))];
}
