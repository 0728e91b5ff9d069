import { subPathNeedsRoot, subPathRefused } from '../../messages/inputs.js';
import {
  capabilitiesRefused,
  commandIsDirectory,
  commandMissing,
  commandNotExecutable,
  commandNotFound,
  imageAbsent,
  imageRefused,
  imageRemoved,
  limitsRefused,
  mountUnseen as unseenMount,
  notRestarted,
  sourceMoved as movedSource,
  startRefused,
  strictLimitsRefused,
  userMissing,
  userRefused,
  workingDirectoryMissing,
} from '../../messages/starts.js';
import { command, patchOf, serviceOf } from '../commands.js';
import { shellWord } from '../../messages/shell-word.js';
import { type Remedy, run, set, wait } from '../remedy.js';
import type { About } from '../world.js';
import { limitsNotEnforced, strictLimits } from '../scheduling/room.js';
import {
  engineDiskFull,
  engineInterrupted,
  imageFailed,
  mountUnseen,
  nodeDiskFull,
  portTaken,
  sourceMoved,
} from './container-remedies.js';
import { engineTexts } from './engine-texts.js';

const imageFailures = [imageRefused, imageAbsent, imageRemoved] as const;
const commandFailures = [
  commandMissing,
  commandNotFound,
  commandIsDirectory,
  engineTexts.commandRefused,
];

/** The remedy if the runtime could not start the command: the field of the template, from the reported error. */
export function startFailed(about: About<'Instance'>): Remedy {
  const { message, object } = about;
  const service = serviceOf(object);
  const label = `service ${service.namespace}/${service.name}`;
  const edit = command('edit', 'service', service);
  const { node = '' } = object;
  const interrupted = engineInterrupted(about);
  if (interrupted) return interrupted;
  if (imageFailures.some((form) => form.isIn(message))) return imageFailed(about);
  if (userRefused.isIn(message))
    return run(
      patchOf('service', service, { user: null }),
      `workloads of node ${node} run as the user of kedged there: remove user from ${label}`,
    );
  const { diskFull } = engineTexts;
  if (diskFull.isIn(message))
    return object.template.runtime === 'process' || diskFull.isOfKedged(message)
      ? nodeDiskFull(about)
      : engineDiskFull(about);
  if (movedSource.isIn(message)) return sourceMoved(about);
  if (unseenMount.isIn(message)) return mountUnseen(about);
  if (engineTexts.portTaken.isIn(message)) return portTaken(about);
  if (limitsRefused.isIn(message)) return limitsNotEnforced(about);
  if (strictLimitsRefused.isIn(message)) return strictLimits(about);
  const where = object.template.runtime === 'process' ? 'node' : 'image';
  if (userMissing.isIn(message) || engineTexts.userUnknown.isIn(message))
    return set(
      `user of ${label}`,
      `a user of the ${where}, or a uid`,
      patchOf('service', service, { user: '1000' }),
    );
  if (capabilitiesRefused.isIn(message))
    return run(
      patchOf('service', service, { capabilities: null }),
      `kedged on node ${node} can't grant them: remove capabilities from ${label}`,
    );
  if (workingDirectoryMissing.isIn(message) || engineTexts.workingDirectoryRefused.isIn(message))
    return run(
      patchOf('service', service, { workingDir: '/' }),
      `set an existing working directory for ${label}`,
    );
  const refusedFile = commandNotExecutable.read(message)?.file;
  if (refusedFile !== undefined)
    return set(
      `command of ${label}`,
      `a list with a shell before the file, such as ${JSON.stringify(['/bin/sh', refusedFile])}`,
      edit,
      `or make the file executable: chmod +x ${shellWord(refusedFile)}`,
    );
  if (subPathNeedsRoot.isIn(message))
    return set(
      `volumes[].subPath of ${label}`,
      'an empty value, so that the whole volume is mounted',
      edit,
      'or run kedged as root',
    );
  if (subPathRefused.isIn(message))
    return set(`volumes[].subPath of ${label}`, 'an existing directory of the volume', edit);
  if (engineTexts.tooManyVariables.isIn(message))
    return set(`env, envFrom and command of ${label}`, 'less than 2 MiB in total', edit);
  const hidden = engineTexts.mountRefused.targetIn(message);
  if (hidden !== undefined)
    return set(
      `mountPath ${hidden} of ${label}`,
      'a path that is a directory of the image, or that the image does not have',
      edit,
    );
  if (message === '' || commandFailures.some((form) => form.isIn(message)))
    return set(`command[0] of ${label}`, `a program of the ${where}, such as /bin/sh`, edit);
  return wait(
    `its cause to be removed on node ${node}`,
    'afterwards, because the start is retried',
    edit,
    `to change ${label} instead`,
  );
}

/** The remedy for a workload that ran and ended. */
export function ended(about: About<'Instance'>): Remedy {
  const { object, message } = about;
  const service = serviceOf(object);
  const logs = command('logs', 'instance', object, '--tail 20');
  if (startRefused.isIn(message)) return startFailed(about);
  const label = `command of service ${service.namespace}/${service.name}`;
  const edit = command('edit', 'service', service);
  if (notRestarted.isIn(message))
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
