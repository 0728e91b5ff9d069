import type { InstanceTemplate } from '@kedge/api/kinds';
import { portLabel } from '../resources/index.js';
import { field } from './describe.js';

type Field = ReturnType<typeof field>;
type Resources = NonNullable<InstanceTemplate['resources']>;

function amountText({ request = '', limit = '' }: NonNullable<Resources['cpu']> = {}): string {
  const parts = [request === '' ? '' : `request ${request}`, limit === '' ? '' : `limit ${limit}`];
  return parts.filter((part) => part !== '').join(', ');
}

/** The requests and limits of a workload as its service has them, one line per resource. */
export function resourceFields({
  resources = {},
}: Pick<InstanceTemplate, 'resources'>): readonly Field[] {
  const { cpu, memory, pids, sharedMemory, strict } = resources;
  return [
    field('CPU', amountText(cpu)),
    field('Memory', amountText(memory)),
    field('Processes', pids === undefined ? undefined : `limit ${pids}`),
    field('Shared memory', sharedMemory),
    field(
      'Limits',
      strict === true ? "strict: a node that can't enforce them refuses the start" : undefined,
    ),
  ];
}

/** The ports of a service, one line per port. */
export function portFields({ ports = [] }: Pick<InstanceTemplate, 'ports'>): readonly Field[] {
  return ports.map(({ name, port, hostPort, protocol }) =>
    field(
      `Port ${name}`,
      `${portLabel(port, protocol)}${hostPort === undefined ? '' : `, ${hostPort} on the node`}`,
    ),
  );
}
