import {
  portReservedFor,
  portTakenBy,
  roomReservedFor,
  shortage,
} from '../../messages/placement.js';
import { command, patchOf, serviceOf, serviceOfClaim } from '../commands.js';
import { type Remedy, run, set } from '../remedy.js';
import type { About } from '../world.js';

/** The remedy for an instance that requests more than any node has free. */
export function tooLittle({ object, message }: About<'Instance'>): Remedy {
  const service = serviceOf(object);
  const label = `service ${service.namespace}/${service.name}`;
  const reported = shortage.read(message);
  if (!reported)
    return set(
      `resources of ${label}`,
      'requests that a node has free',
      command('edit', 'service', service),
    );
  const { free, total, resource } = reported;
  const field = resource === 'pids' ? 'resources.pids' : `resources.${resource}.request`;
  const reserved = roomReservedFor.read(message)?.instance;
  const orElse =
    reserved === undefined
      ? ''
      : `, or after at most 15 minutes if instance ${reserved} has not got its volumes by then`;
  const more = `the instance is scheduled automatically once a node has enough free capacity (the total of this node is ${total})${orElse}`;
  if (Number.parseFloat(free) === 0)
    return set(
      `scale of a service, or ${field} of ${label},`,
      'a lower value, because the node has no free capacity',
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
  const holder = (portTakenBy.read(message) ?? portReservedFor.read(message))?.instance;
  const other = holder === undefined ? undefined : serviceOfClaim(holder, world);
  const label = `service ${service.namespace}/${service.name}`;
  if (other?.namespace === service.namespace && other.name === service.name)
    return run(
      command('scale', 'service', service, '--replicas 1'),
      `another replica of ${label} uses the port: run at most one replica on each node`,
    );
  return set(
    `ports[].hostPort of ${label}`,
    'a port that no other service uses',
    command('edit', 'service', service),
    other === undefined ? '' : `or free it: ${command('scale', 'service', other, '--replicas 0')}`,
  );
}

/** The remedy if the engine of the node does not enforce the limits of a workload that requires it. */
export function strictLimits({ object }: About<'Instance'>): Remedy {
  const service = serviceOf(object);
  return run(
    patchOf('service', service, { resources: { strict: null } }),
    `the engine of node ${object.node ?? ''} lacks these limits: use an engine that has them, or let service ${service.namespace}/${service.name} run although they are not enforced`,
  );
}

/** The remedy if the node can't enforce the limits of a workload. */
export function limitsNotEnforced({ object }: About<'Instance'>): Remedy {
  const service = serviceOf(object);
  const needs =
    object.template.runtime === 'process'
      ? `kedged on node ${object.node ?? ''} needs root and cgroup controllers for limits`
      : `the kernel of node ${object.node ?? ''} needs the cgroup controllers of these limits`;
  return run(
    patchOf('service', service, { resources: null }),
    `${needs}: provide them, or let service ${service.namespace}/${service.name} run without limits`,
  );
}
