import type { Instance } from '@kedge/api/kinds';
import { command } from '../commands.js';
import { type Remedy, set, wait } from '../remedy.js';
import type { About } from '../world.js';

function serviceOf({ namespace, service }: Instance): { namespace: string; name: string } {
  return { namespace, name: service };
}

/** The engine of the node can't be asked, or is of another version: its message has the way out. */
export function engineUnavailable({ object }: About<'Instance'>): Remedy {
  return wait(
    `the container engine of node ${object.node ?? ''}`,
    'once that answers (install or start it as the message says)',
    command('scale', 'service', serviceOf(object), '--replicas 0'),
    'to stop waiting',
  );
}

/** The image of a container could not be had. */
export function imageFailed({ object }: About<'Instance'>): Remedy {
  const service = serviceOf(object);
  return set(
    `image of service ${service.namespace}/${service.name}`,
    'one that the registry has and gives to this node',
    command('edit', 'service', service),
    'it is tried again by itself',
  );
}

/** The kernel ended it, since it used more memory than it may. */
export function outOfMemory({ object }: About<'Instance'>): Remedy {
  const service = serviceOf(object);
  return set(
    `command of service ${service.namespace}/${service.name}`,
    'one that needs less memory',
    command('edit', 'service', service),
    'or give the node more memory',
  );
}
