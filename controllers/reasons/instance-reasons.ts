import { runtimeMissing } from '../messages/starts.js';
import { attachmentsExhausted, usedBy, volumeMissing } from '../messages/storage.js';
import { mountedVolumes } from '../references/claim.js';
import {
  command,
  deletionOf,
  patchOf,
  scaleToNothing,
  serviceOf,
  serviceOfClaim,
} from './commands.js';
import { inputsFailed, missingVolume } from './instance-inputs.js';
import {
  engineUnavailable,
  imageFailed,
  outOfMemory,
  paused,
  stopFailed,
} from './runtime/container-remedies.js';
import { ended, startFailed } from './runtime/start-remedies.js';
import { nodeIsAway } from './node-reasons.js';
import { noNodeFits } from './scheduling/placement.js';
import { hostPortTaken, limitsNotEnforced, tooLittle } from './scheduling/room.js';
import { unmet } from './reason.js';
import { byKind, type Remedy, type RemedyOf, run, set, wait } from './remedy.js';
import { again, namedVolumes } from './storage-subject.js';
import { type About, findByKey } from './world.js';

/** A remedy for instances. Other objects with the reason wait until the cause is removed, or can be deleted. */
function ofInstance(remedy: RemedyOf<'Instance'>): RemedyOf {
  return byKind({ Instance: remedy }, (about) =>
    wait('its cause to be removed', 'afterwards', deletionOf(about), 'to delete it instead'),
  );
}

/** The remedy for a state that ends by itself: to wait, or to stop the service, which would recreate the instance. */
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

/** The remedy for an instance whose volume is not ready or does not exist. */
function volumeNotReady(about: About<'Instance'>): Remedy {
  const { message, object, world } = about;
  const key = namedVolumes(message)[0] ?? mountedVolumes(object)[0] ?? '';
  const [namespace = '', name = ''] = key.split('/');
  const volume = findByKey(world.volumes, key);
  const service = serviceOf(object);
  if (volumeMissing.isIn(message) && !volume) return missingVolume(about, key);
  if (volume?.metadata.deletionRequestedAt !== undefined)
    return wait(
      `volume ${namespace}/${name} to be deleted and created again`,
      'afterwards',
      command('scale', 'service', service, '--replicas 0'),
      'to release the volume',
    );
  if (volume?.status === 'Released')
    return run(
      command('volume reuse', 'volume', volume),
      `volume ${namespace}/${name} is Released: make it Available again`,
    );
  return wait(
    `volume ${namespace}/${name}`,
    'once the volume is Available',
    command('scale', 'service', service, '--replicas 0'),
    'to stop waiting',
  );
}

/** The remedy if another instance has claimed the volume. */
function volumeInUse(about: About<'Instance'>): Remedy {
  const { message, object, world } = about;
  const own = `${object.namespace}/${object.name}`;
  const user = usedBy.read(message)?.instance;
  if (attachmentsExhausted.isIn(message))
    return wait(
      'its volume',
      'once another instance releases it',
      command('scale', 'service', serviceOf(object), '--replicas N'),
      'to run fewer instances',
    );
  if (user === undefined || user === own)
    return wait(
      'its volume',
      'once the earlier attachment is detached',
      command('scale', 'service', serviceOf(object), '--replicas 0'),
      'to stop waiting',
    );
  const holder = findByKey(world.instances, user);
  if (holder?.status === 'Unknown') return nodeIsAway(about, holder.node ?? '');
  const { namespace, name } = serviceOfClaim(user, world);
  return run(
    scaleToNothing(user, world),
    `instance ${user} has claimed the volume: stop service ${namespace}/${name}, and this instance starts automatically`,
  );
}

function runtimeUnavailable(about: About<'Instance'>): Remedy {
  const { object, message, world } = about;
  const wanted = object.template.runtime ?? 'container';
  const missing = runtimeMissing.read(message);
  // Without that message, the node has the runtime, and what it runs on is away.
  if (!missing && wanted === 'container') return engineUnavailable(about);
  const service = serviceOf(object);
  const node = world.nodes.find(({ name }) => name === object.node);
  const known = missing?.runtimes ?? node?.runtimes ?? [];
  const [other] = known.filter((name) => name !== 'none' && name !== wanted);
  if (other === undefined)
    return wait(
      `the runtime of node ${object.node ?? ''}`,
      'once the runtime is available',
      command('scale', 'service', service, '--replicas 0'),
      'to stop waiting',
    );
  const patch = other === 'process' ? { runtime: other, image: null } : { runtime: other };
  return run(
    patchOf('service', service, patch),
    `node ${object.node ?? ''} has runtime ${other}: use it for service ${service.namespace}/${service.name}`,
  );
}

/** Reasons of conditions that instances have. */
export const instanceReasons = {
  NoNodeFits: unmet('no node fits the instance', ofInstance(noNodeFits)),
  InsufficientResources: unmet(
    'no node that fits otherwise has enough free resources and host ports for the instance',
    ofInstance(tooLittle),
  ),
  HostPortTaken: unmet(
    'other instances use the host ports of the instance on all nodes that fit otherwise',
    ofInstance(hostPortTaken),
  ),
  Attaching: unmet(
    'a volume is being attached and mounted',
    passing('its volumes', 'once its volumes are mounted'),
  ),
  Starting: unmet(
    'the workload is starting, or has run for less than minReadySeconds',
    passing('its workload', 'once the workload has run for minReadySeconds'),
  ),
  Pulling: unmet(
    'the image of the workload is being pulled',
    passing('its image', 'once the image is pulled'),
  ),
  ImagePullFailed: unmet("the image of the workload can't be provided", ofInstance(imageFailed)),
  OOMKilled: unmet('the workload exceeded its memory limit', ofInstance(outOfMemory)),
  EngineRestarted: unmet(
    'the container engine or its machine was restarted, which ended the workload',
    passing('its workload', 'once the workload has run for minReadySeconds'),
  ),
  Paused: unmet(
    'another user of the engine paused the container of the instance',
    ofInstance(paused),
  ),
  NetworkLost: unmet(
    'another user of the engine disconnected the container of the instance from the network of the cluster',
    ofInstance((about) =>
      run(
        command('restart', 'instance', about.object),
        'a restart connects the container to the network again',
      ),
    ),
  ),
  LimitsNotEnforced: unmet(
    "the node of the instance can't enforce the limits of the workload",
    ofInstance(limitsNotEnforced),
  ),
  LimitsChanged: unmet(
    'another user or program changed the limits of the workload while it runs',
    ofInstance((about) =>
      run(
        command('restart', 'instance', about.object),
        'a restart gives the workload the limits of its service; change resources of the service to keep others',
      ),
    ),
  ),
  Stopping: unmet(
    'the workload is being stopped',
    passing(
      'its workload to end',
      'once it has ended (it is killed after terminationGracePeriodSeconds)',
    ),
  ),
  Detaching: unmet(
    'the volumes of the instance are being detached from its node',
    passing('its volumes', 'once the node has detached them'),
  ),
  StopFailed: unmet(
    'the workload could not be stopped, or its files could not be removed; this is retried',
    ofInstance(stopFailed),
  ),
  DetachFailed: unmet(
    'a volume could not be detached from the node; the detach is retried',
    ofInstance(detachFailed),
  ),
  VolumeTaken: unmet(
    'a volume of the instance was force-detached while its node was not Ready',
    passing('the volume', 'once the volume is attached again'),
  ),
  DaemonStopped: unmet(
    'the workload was stopped because kedged on its node was stopped',
    ofInstance((about) => nodeIsAway(about, about.object.node ?? '')),
  ),
  NodeStopped: unmet(
    'kedged on the node of the instance was stopped',
    ofInstance((about) => nodeIsAway(about, about.object.node ?? '')),
  ),
  RuntimeUnavailable: unmet(
    'the runtime of the instance is not available on its node',
    ofInstance(runtimeUnavailable),
  ),
  StartFailed: unmet('the command could not be started', ofInstance(startFailed)),
  Exited: unmet('the command ended with exit code 0', ofInstance(ended)),
  WriteFailed: unmet(
    'secrets and configmaps could not be written for the workload',
    ofInstance(inputsFailed),
  ),
  VolumeNotReady: unmet(
    'a volume that the instance mounts does not exist or is not usable',
    ofInstance(volumeNotReady),
  ),
  VolumeInUse: unmet(
    'a volume that the instance mounts is claimed by another instance',
    ofInstance(volumeInUse),
  ),
  InvalidClaim: unmet(
    'the volume name in a claim is malformed',
    ofInstance(({ object }) =>
      set(
        `volumes[].claim.name of service ${object.namespace}/${object.service}`,
        'VOLUME or VOLUME.NAMESPACE.svc',
        command('edit', 'service', serviceOf(object)),
      ),
    ),
  ),
} as const;

/** The remedy for an instance whose workload failed. */
export const failed: RemedyOf<'Instance'> = ended;

function detachFailed(about: About<'Instance'>): Remedy {
  const held = about.world.volumes.find(({ attachments = [] }) =>
    attachments.some(({ claim }) => claim === `${about.object.namespace}/${about.object.name}`),
  );
  if (!held) return again(about, 'its volumes to be detached');
  return wait(
    `volume ${held.namespace}/${held.name} to be detached`,
    'on the next retry',
    command('volume detach', 'volume', held, '--force'),
    'if the node is down, to force-detach it',
  );
}
