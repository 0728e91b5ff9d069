import {
  containerNameTaken,
  containerPaused,
  containerUnkillable,
  containerUnsettled,
  engineAbsent,
  engineStopped,
  engineStuck,
  networkForeign,
  imageAbsent,
  imageRemoved,
  processUnkillable,
  processUnrecorded,
  sourceMoved as movedSource,
} from '../../messages/starts.js';
import { removalByRoot } from '../../messages/inputs.js';
import { command, patchOf, serviceOf } from '../commands.js';
import { shellWord } from '../../messages/shell-word.js';
import { type Remedy, run, set, wait } from '../remedy.js';
import type { About } from '../world.js';
import { engineTexts } from './engine-texts.js';

/** The remedy if the engine of the node is unreachable or of an unsupported version; the message names it. */
export function engineUnavailable({ object, message }: About<'Instance'>): Remedy {
  const engine = `the container engine of node ${object.node ?? ''}`;
  const then = 'the instance continues automatically once the engine answers';
  if (engineStopped.isIn(message))
    return run('systemctl start docker', `start ${engine}, and ${then}`);
  if (engineAbsent.isIn(message))
    return run(
      'apt-get install docker.io',
      `install and start a container engine on node ${object.node ?? ''}, and ${then}; on Debian`,
    );
  return wait(
    engine,
    'once the engine answers (on the node: systemctl start docker; to install it: apt-get install docker.io)',
    command('scale', 'service', serviceOf(object), '--replicas 0'),
    'to stop waiting',
  );
}

/** The remedy for a workload that could not be stopped, or whose files could not be removed. */
export function stopFailed({ object, message }: About<'Instance'>): Remedy {
  const { node = '', template } = object;
  const removal = removalByRoot.commandIn(message);
  if (removal !== undefined)
    return run(removal, `type it on node ${node}, and the deletion is retried automatically`);
  const { pid } = processUnkillable.read(message) ?? {};
  if (pid !== undefined)
    return wait(
      `process ${pid} of node ${node}, which is blocked in the kernel, often by a disk or a network file system that does not answer,`,
      'once the kernel ends it',
      'systemctl reboot',
      `if that does not happen, restart node ${node}`,
    );
  if (template.runtime === 'process')
    return wait(
      'its processes to end',
      'on the next retry',
      command('scale', 'service', serviceOf(object), '--replicas 0'),
      'to start no other instance',
    );
  return run(
    'systemctl restart docker',
    `the stop is retried automatically; if it fails again, start or restart the container engine of node ${node}${
      containerUnkillable.isIn(message)
        ? ', and if the container still runs, restart the node: its process is blocked in the kernel'
        : engineTexts.rootBusy.isIn(message)
          ? ', and if that does not help, restart the node: a mount of an earlier engine may keep the root directory of the container busy'
          : ''
    }`,
  );
}

/** The remedy if a user of the engine paused the container. */
export function paused({ object, message }: About<'Instance'>): Remedy {
  const name = containerPaused.read(message)?.container ?? 'CONTAINER';
  return run(
    `docker unpause ${shellWord(name)}`,
    `continue the container on node ${object.node ?? ''}`,
  );
}

/** The remedy for a start that the engine did not complete; undefined for other failures. */
export function engineInterrupted({ object, message }: About<'Instance'>): Remedy | undefined {
  const unrecorded = processUnrecorded.read(message);
  if (unrecorded)
    return run(
      `sudo kill -9 ${shellWord(unrecorded.pid)}`,
      `end the process that the engine does not know, on node ${object.node ?? ''}; the start is retried automatically`,
    );
  const taken = containerNameTaken.read(message);
  if (taken)
    return run(
      `docker rm -f ${shellWord(taken.container)}`,
      `remove the container with that name from node ${object.node ?? ''}, or rename it; the start is retried automatically`,
    );
  const foreign = networkForeign.read(message);
  if (foreign)
    return run(
      `docker network rm ${shellWord(foreign.network)}`,
      `remove the network that has the name of the cluster's network from node ${object.node ?? ''}; the start is retried automatically`,
    );
  if (!engineStuck.isIn(message) && !containerUnsettled.isIn(message)) return undefined;
  return run(
    'systemctl restart docker',
    `the start is retried automatically; if it fails again, restart the container engine of node ${object.node ?? ''}`,
  );
}

/** The remedy if the disk of the container engine is full. */
export function engineDiskFull({ object }: About<'Instance'>): Remedy {
  const { node = '' } = object;
  return run(
    `kedge image prune --node ${node}`,
    `the disk of the container engine of node ${node} is full, and the start is retried automatically; free space, for example from images that no instance uses`,
  );
}

/** The remedy if a disk of the node is full to which kedged writes, for example for a workload that is a process. */
export function nodeDiskFull({ object }: About<'Instance'>): Remedy {
  return wait(
    `free space on the full disk of node ${object.node ?? ''}`,
    'on the next retry',
    command('scale', 'service', serviceOf(object), '--replicas 0'),
    'to stop waiting',
  );
}

/** The remedy if a directory of the node was replaced by a link after its volume was prepared. */
export function sourceMoved({ object, message }: About<'Instance'>): Remedy {
  const path = movedSource.read(message)?.source ?? '';
  return wait(
    `directory ${path} of node ${object.node ?? ''}`,
    'once it is put back in place of the link',
    command('edit', 'service', serviceOf(object)),
    'to mount another volume',
  );
}

/** The remedy if the engine does not have the mounts of kedged. */
export function mountUnseen({ object }: About<'Instance'>): Remedy {
  return wait(
    `a restart of kedged on node ${object.node ?? ''} in the mount namespace of its container engine (a unit of systemd without PrivateTmp, PrivateMounts and ProtectSystem)`,
    'on the next retry',
    command('scale', 'service', serviceOf(object), '--replicas 0'),
    'to stop waiting',
  );
}

/** The remedy if the image of a container could not be provided. */
export function imageFailed(about: About<'Instance'>): Remedy {
  if (engineTexts.diskFull.isIn(about.message)) return engineDiskFull(about);
  const { object, message } = about;
  const { node = '' } = object;
  const service = serviceOf(object);
  const label = `service ${service.namespace}/${service.name}`;
  const absent = imageAbsent.read(message);
  if (absent)
    return run(
      patchOf('service', service, { imagePull: 'missing' }),
      `load image ${absent.image} (kedge image load FILE --node ${node}), and the start is retried automatically; or permit the pull for ${label}`,
    );
  if (imageRemoved.isIn(message))
    return wait(
      `image ${imageRemoved.read(message)?.image ?? ''} of node ${node}, which another user or program removes after its pull,`,
      'with the next pull',
      command('scale', 'service', service, '--replicas 0'),
      'to stop waiting',
    );
  return set(
    `image of ${label}`,
    `an image that exists in the registry and that node ${node} may pull`,
    command('edit', 'service', service),
    'or remove the cause of the failed pull: the pull is retried automatically',
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

/** The remedy if another program or container of the node has a port that the engine is to publish. */
export function portTaken({ object, message }: About<'Instance'>): Remedy {
  const service = serviceOf(object);
  const { isOfContainer, portIn } = engineTexts.portTaken;
  const port = portIn(message);
  const filtered = (option: string): string => (port === undefined ? '' : ` ${option}`);
  const holder = isOfContainer(message)
    ? `remove the container that has it (docker ps${filtered(`--filter publish=${port}`)})`
    : `end the process that listens on it (ss -lntup${filtered(`'sport = :${port}'`)})`;
  return set(
    `ports[].hostPort of service ${service.namespace}/${service.name}`,
    'a port that is free on the node, or remove it',
    command('edit', 'service', service),
    `or ${holder}; the start is retried automatically`,
  );
}
