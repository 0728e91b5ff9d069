import {
  command,
  castOf,
  deletionOf,
  patchOf,
  scaleToNothing,
  serviceOf,
  serviceOfClaim,
} from './commands.js';
import { inputsFailed } from './instance-inputs.js';
import { engineUnavailable, imageFailed, outOfMemory } from './runtime/container-remedies.js';
import { ended, startFailed } from './runtime/start-remedies.js';
import { nodeIsAway } from './node-reasons.js';
import { noNodeFits } from './placement.js';
import { hostPortTaken, tooLittle } from './room.js';
import { unmet } from './reason.js';
import { byKind, type Remedy, type RemedyOf, run, set, wait } from './remedy.js';
import { again } from './storage-subject.js';
import { type About, findByKey, type World } from './world.js';

/** A remedy for instances; for other objects with the reason the remedy is to inspect them again. */
function ofInstance(remedy: RemedyOf<'Instance'>): RemedyOf {
  return byKind({ Instance: remedy }, (about) =>
    wait('what the message names', 'once that is so', deletionOf(about), 'to do without it'),
  );
}

/** Waits for an end that needs no action; deleting the instance makes its service start again. */
function passing(waitsFor: string, until: string): RemedyOf {
  return ofInstance(({ object }) =>
    wait(
      waitsFor,
      until,
      command('scale', 'service', serviceOf(object), '--replicas 0'),
      'to stop it instead',
    ),
  );
}

/** The class of a new volume when no class is the default. */
function classLine({ storageClasses }: World): readonly string[] {
  const [first] = storageClasses;
  const known = storageClasses.find(({ name }) => name === 'local') ?? first;
  return known ? [`storageClassName: ${known.name}`] : [];
}

/** The remedy for an instance whose volume is not ready or does not exist. */
function volumeNotReady(about: About<'Instance'>): Remedy {
  const { message, object, world } = about;
  const [, namespace = '', name = ''] = /volume ([-a-z0-9]+)\/([-a-z0-9]+)/.exec(message) ?? [];
  const volume = findByKey(world.volumes, `${namespace}/${name}`);
  const service = serviceOf(object);
  if (/does not exist/.test(message) && !volume) {
    const others = world.volumes.filter((other) => other.namespace === namespace);
    const known = others.map((other) => other.name).join(', ');
    const more =
      known === ''
        ? ''
        : ` (volumes of namespace ${namespace}: ${known}; another one is claimed with ${command('edit', 'service', service)})`;
    const label = `volume ${namespace}/${name}`;
    if (object.template.runtime === 'process')
      return set(
        `parameters.hostPath of a new ${label}`,
        'a directory of the node that [storage].hostPathAllowlist allows',
        castOf([
          'kind: Volume',
          `name: ${name}`,
          `namespace: ${namespace}`,
          'storageClassName: local-host',
          'size: 1Gi',
          'accessMode: ReadWriteOnce',
          'parameters: {hostPath: VALUE, createIfMissing: "true"}',
        ]),
        `and it goes on by itself${more}`,
      );
    return run(
      castOf([
        'kind: Volume',
        `name: ${name}`,
        `namespace: ${namespace}`,
        ...classLine(world),
        'size: 1Gi',
        'accessMode: ReadWriteOnce',
      ]),
      `create ${label}, and it goes on by itself${more}`,
    );
  }
  if (volume?.metadata.deletionRequestedAt !== undefined)
    return wait(
      `volume ${namespace}/${name} to be gone and made again`,
      'once that is so',
      command('scale', 'service', service, '--replicas 0'),
      'to let go of it',
    );
  if (volume?.status === 'Released')
    return run(
      command('volume reuse', 'volume', volume),
      `volume ${namespace}/${name} is Released: make it Available again`,
    );
  return wait(
    `volume ${namespace}/${name}`,
    'once that is Available',
    command('scale', 'service', service, '--replicas 0'),
    'to stop waiting',
  );
}

/** The remedy if another instance has claimed the volume. */
function volumeInUse(about: About<'Instance'>): Remedy {
  const { message, object, world } = about;
  const own = `${object.namespace}/${object.name}`;
  const [, user] =
    /in use by (\S+)/.exec(message) ??
    /, and (\S+) uses that/.exec(message) ??
    /(?:still with|taken from) (\S+)/.exec(message) ??
    [];
  if (/has at most \d+; run fewer/.test(message))
    return wait(
      'its volume',
      'once another instance lets go of it',
      command('scale', 'service', serviceOf(object), '--replicas N'),
      'to run fewer instances',
    );
  if (user === undefined || user === own)
    return wait(
      'its volume',
      'once the node that had it lets go',
      command('scale', 'service', serviceOf(object), '--replicas 0'),
      'to stop waiting',
    );
  const { namespace, name } = serviceOfClaim(user, world);
  return run(
    scaleToNothing(user, world),
    `instance ${user} has the volume: stop service ${namespace}/${name}, and it goes on by itself`,
  );
}

function runtimeUnavailable(about: About<'Instance'>): Remedy {
  const { object, message, world } = about;
  if (/container engine/.test(message)) return engineUnavailable(about);
  const service = serviceOf(object);
  const [, known = ''] = /it has: (.*)$/.exec(message) ?? [];
  const node = world.nodes.find(({ name }) => name === object.node);
  const [other] = (known === '' ? (node?.runtimes ?? []) : known.split(', ')).filter(
    (name) => name !== 'none' && name !== (object.template.runtime ?? ''),
  );
  if (other === undefined)
    return wait(
      `the runtime of node ${object.node ?? ''}`,
      'once that can be used',
      command('scale', 'service', service, '--replicas 0'),
      'to stop waiting',
    );
  const patch = other === 'process' ? { runtime: other, image: null } : { runtime: other };
  return run(
    patchOf('service', service, patch),
    `node ${object.node ?? ''} has runtime ${other}: run service ${service.namespace}/${service.name} with it`,
  );
}

/** Reasons of conditions that instances have. */
export const instanceReasons = {
  NoNodeFits: unmet('no node takes the instance', ofInstance(noNodeFits)),
  InsufficientResources: unmet(
    'no node has the resources free that the instance requests',
    ofInstance(tooLittle),
  ),
  HostPortTaken: unmet(
    'other instances have the ports of the nodes that the instance takes',
    ofInstance(hostPortTaken),
  ),
  Attaching: unmet(
    'a volume is being attached and mounted',
    passing('its volumes', 'once they are mounted'),
  ),
  Starting: unmet(
    'the workload starts, or has not run for long enough to be ready',
    passing('its workload', 'when that has run for minReadySeconds'),
  ),
  Pulling: unmet(
    'the image of the workload is being pulled',
    passing('its image', 'once that is on the node'),
  ),
  ImagePullFailed: unmet("the image of the workload can't be provided", ofInstance(imageFailed)),
  OOMKilled: unmet('the workload used more memory than it may', ofInstance(outOfMemory)),
  Stopping: unmet(
    'the workload was asked to end',
    passing('the end of its workload', 'after terminationGracePeriodSeconds at the latest'),
  ),
  Detaching: unmet(
    'the volumes of the instance are being taken from its node',
    passing('its volumes', 'once the node let go of them'),
  ),
  StopFailed: unmet(
    'the workload could not be stopped; it is tried again',
    passing('the end of its workload', 'with the next try'),
  ),
  DetachFailed: unmet(
    'a volume could not be taken from the node; it is tried again',
    ofInstance(detachFailed),
  ),
  VolumeTaken: unmet(
    'a volume was taken from the instance while its node did not answer',
    passing('the volume', 'once it has it again'),
  ),
  DaemonStopped: unmet(
    'the workload was stopped with kedged',
    ofInstance((about) => nodeIsAway(about, about.object.node ?? '')),
  ),
  NodeStopped: unmet(
    'kedged on the node of the instance was stopped',
    ofInstance((about) => nodeIsAway(about, about.object.node ?? '')),
  ),
  RuntimeUnavailable: unmet(
    "the runtime of the instance can't be used on its node",
    ofInstance(runtimeUnavailable),
  ),
  StartFailed: unmet('the command could not be started', ofInstance(startFailed)),
  Exited: unmet('the command ended with exit code 0', ofInstance(ended)),
  WriteFailed: unmet(
    'secrets and configmaps could not be written for the workload',
    ofInstance(inputsFailed),
  ),
  VolumeNotReady: unmet(
    'a volume that the instance mounts is not there, or not usable',
    ofInstance(volumeNotReady),
  ),
  VolumeInUse: unmet(
    'another instance has a volume that the instance mounts',
    ofInstance(volumeInUse),
  ),
  InvalidClaim: unmet(
    "the name in a claim can't be read",
    ofInstance(({ object }) =>
      set(
        `volumes[].claim.name of service ${object.namespace}/${object.service}`,
        'VOLUME or VOLUME.NAMESPACE.svc',
        command('edit', 'service', serviceOf(object)),
      ),
    ),
  ),
} as const;

/** The workload of an instance failed, or all instances of a service. */
export const failed: RemedyOf<'Instance'> = ended;

function detachFailed(about: About<'Instance'>): Remedy {
  const held = about.world.volumes.find(({ attachments = [] }) =>
    attachments.some(({ claim }) => claim === `${about.object.namespace}/${about.object.name}`),
  );
  if (!held) return again(about, 'its volumes to be free');
  return wait(
    `volume ${held.namespace}/${held.name} to be detached`,
    'with the next try',
    command('volume detach', 'volume', held, '--force'),
    'when the node is certainly down, to take it away',
  );
}
