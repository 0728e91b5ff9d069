import { command, patchOf, serviceOf, serviceOfClaim } from './commands.js';
import { type Remedy, run, set } from './remedy.js';
import type { About } from './world.js';

/** The remedy for an instance that requests more than any node has free. */
export function tooLittle({ object, message }: About<'Instance'>): Remedy {
  const service = serviceOf(object);
  const label = `service ${service.namespace}/${service.name}`;
  const found = /(\S+) of (\S+) (cpu|memory|pids) free, (\S+) is requested/.exec(message);
  const [, free = '', total = '', resource = 'cpu'] = found ?? [];
  const field = resource === 'pids' ? 'resources.pids' : `resources.${resource}.request`;
  const more = `it goes on by itself once other instances of the node end, or with another node (${total} is all that this one has)`;
  if (/^0[a-zA-Z]*$/.test(free))
    return set(
      `scale of a service, or ${field} of ${label},`,
      'less, since the node has nothing left',
      command('edit', 'service', service),
      more,
    );
  const value = resource === 'pids' ? Number(free) : { request: free };
  return set(
    `${field} of ${label}`,
    `at most ${free}`,
    patchOf('service', service, { resources: { [resource]: value } }),
    more,
  );
}

/** The remedy for an instance whose host port another instance has on every node. */
export function hostPortTaken({ object, message, world }: About<'Instance'>): Remedy {
  const service = serviceOf(object);
  const [, holder = ''] = /is taken by instance (\S+?)(?:;|$)/.exec(message) ?? [];
  const other = serviceOfClaim(holder, world);
  const label = `service ${service.namespace}/${service.name}`;
  if (other.namespace === service.namespace && other.name === service.name)
    return run(
      command('scale', 'service', service, '--replicas 1'),
      `another replica of ${label} has the port: run at most one on each node`,
    );
  return set(
    `ports[].hostPort of ${label}`,
    'a port that no other service has',
    command('edit', 'service', service),
    `or free it: ${command('scale', 'service', other, '--replicas 0')}`,
  );
}
