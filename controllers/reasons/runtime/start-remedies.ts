import { command, patchOf, serviceOf } from '../commands.js';
import { type Remedy, run, set } from '../remedy.js';
import type { About } from '../world.js';
import { limitsNotEnforced } from '../scheduling/room.js';
import {
  engineDiskFull,
  engineInterrupted,
  imageFailed,
  isDiskFull,
  portTaken,
  sourceMoved,
} from './container-remedies.js';

/** The remedy if the runtime could not start the command: the field of the template, from the reported error. */
export function startFailed(about: About<'Instance'>): Remedy {
  const { message, object } = about;
  const service = serviceOf(object);
  const label = `service ${service.namespace}/${service.name}`;
  const edit = command('edit', 'service', service);
  const interrupted = engineInterrupted(about);
  if (interrupted) return interrupted;
  if (/^can't be started: image/.test(message)) return imageFailed(about);
  if (/^can't be started: user \S* ?can't be used/.test(message))
    return run(
      patchOf('service', service, { user: null }),
      `workloads on this node run as the user of kedged: remove user from ${label}`,
    );
  if (isDiskFull(message)) return engineDiskFull(about);
  if (/its source \S+ leads to/.test(message)) return sourceMoved(about);
  if (/address already in use|port is already allocated/.test(message)) return portTaken(about);
  if (/limits of .* can't be enforced/.test(message)) return limitsNotEnforced(about);
  if (/user \S+ does not exist/.test(message))
    return set(
      `user of ${label}`,
      'a user of the node, or a uid',
      patchOf('service', service, { user: '1000' }),
    );
  if (/capabilities .* can't be granted/.test(message))
    return run(
      patchOf('service', service, { capabilities: null }),
      `kedged on this node can't grant capabilities: remove capabilities from ${label}`,
    );
  if (/working directory/.test(message))
    return run(
      patchOf('service', service, { workingDir: '/' }),
      `set an existing working directory for ${label}`,
    );
  if (/is not executable/.test(message)) {
    const [, file = ''] = /command (\S+) is/.exec(message) ?? [];
    return set(
      `command[0] of ${label}`,
      `a shell before the file, such as /bin/sh ${file}`,
      edit,
      `or make the file executable: chmod +x ${file}`,
    );
  }
  if (/subPath .* needs a kedged that runs as root/.test(message))
    return set(
      `volumes[].subPath of ${label}`,
      'an empty value, so that the whole volume is mounted',
      edit,
      'or run kedged as root',
    );
  if (/subPath/.test(message))
    return set(`volumes[].subPath of ${label}`, 'an existing directory of the volume', edit);
  const where = object.template.runtime === 'process' ? 'node' : 'image';
  return set(`command[0] of ${label}`, `a program of the ${where}, such as /bin/sh`, edit);
}

/** The remedy for a workload that ran and ended. */
export function ended(about: About<'Instance'>): Remedy {
  const { object, message } = about;
  const service = serviceOf(object);
  const logs = command('logs', 'instance', object, '--tail 20');
  if (/can't be started/.test(message)) return startFailed(about);
  const label = `command of service ${service.namespace}/${service.name}`;
  const edit = command('edit', 'service', service);
  if (/not restarted because of restartPolicy/.test(message))
    return run(
      command('restart', 'instance', object),
      `its workload ended, and its restartPolicy does not restart it (its output: ${logs}); to run it again`,
    );
  const why =
    object.exitCode === 127 || object.exitCode === 126
      ? 'an existing executable program'
      : 'a command that keeps running';
  return set(label, why, edit, `its last output: ${logs}`);
}
