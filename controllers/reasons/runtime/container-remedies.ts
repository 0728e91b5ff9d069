import { command, patchOf, serviceOf } from '../commands.js';
import { type Remedy, set, wait } from '../remedy.js';
import type { About } from '../world.js';

/** The remedy if the engine of the node is unreachable or of an unsupported version; the message names it. */
export function engineUnavailable({ object }: About<'Instance'>): Remedy {
  return wait(
    `the container engine of node ${object.node ?? ''}`,
    'once the engine answers (the message says how to install or start it)',
    command('scale', 'service', serviceOf(object), '--replicas 0'),
    'to stop waiting',
  );
}

/** The remedy if the image of a container could not be provided. */
export function imageFailed({ object }: About<'Instance'>): Remedy {
  const service = serviceOf(object);
  return set(
    `image of service ${service.namespace}/${service.name}`,
    'an image that exists in the registry and that this node may pull',
    command('edit', 'service', service),
    'the pull is retried automatically',
  );
}

/** The remedy for a workload that the kernel killed because it exceeded its memory limit. */
export function outOfMemory({ object }: About<'Instance'>): Remedy {
  const service = serviceOf(object);
  const limit = object.template.resources?.memory?.limit;
  if (limit)
    return set(
      `resources.memory.limit of service ${service.namespace}/${service.name}`,
      `more than ${limit}`,
      patchOf('service', service, { resources: { memory: { limit: 'VALUE' } } }),
      'or reduce the memory that the command needs',
    );
  return set(
    `command of service ${service.namespace}/${service.name}`,
    'a command that needs less memory',
    command('edit', 'service', service),
    'or add memory to the node',
  );
}

/** The remedy if another program of the node listens on a port that the engine is to publish. */
export function portTaken({ object, message }: About<'Instance'>): Remedy {
  const service = serviceOf(object);
  const [, port] = /:(\d+): bind: address already in use/.exec(message) ?? [];
  return set(
    `ports[].hostPort of service ${service.namespace}/${service.name}`,
    'a port that is free on the node, or remove it',
    command('edit', 'service', service),
    `or end the process that listens on it (ss -lntup${port === undefined ? '' : ` 'sport = :${port}'`}); the start is retried automatically`,
  );
}
