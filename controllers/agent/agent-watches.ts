import { type Controller, keyString, type Manager, type ObjectKey } from 'kedge';
import { configmaps } from '../configmap/kind.js';
import { type Instance, instances } from '../instance/kind.js';
import { secrets } from '../secret/kind.js';
import { mountedVolumes, usedData } from '../service/index.js';
import { attachmentChanges } from '../volume/index.js';
import { type Volume, volumes } from '../volume/kind.js';
import { claimOf, type VolumeManager } from './volumes/volume-manager.js';

/** Dependencies of {@link watchInstances}. */
export interface AgentWatchOptions {
  readonly manager: Manager;
  readonly node: string;
  readonly volumeManager: VolumeManager;
}

/** The key of the instance of a claim, which may not exist. */
function keyOfClaim(claim: string): ObjectKey {
  const [namespace = '', name = ''] = claim.split('/');
  return { namespace, name };
}

/** Keys of the holders of a volume on a node, from the volume's status. */
function holdersOf(volume: Volume, node: string): readonly ObjectKey[] {
  return (volume.attachments ?? [])
    .filter((attachment) => attachment.node === node)
    .map(({ claim }) => keyOfClaim(claim));
}

/**
 * The watches of instances: the instance, its volumes and others on their storage, and its secrets and configmaps.
 * Maps to keys by the uid of an instance.
 */
export function watchInstances(
  controller: Controller,
  { manager, node, volumeManager }: AgentWatchOptions,
): (uid: string) => readonly ObjectKey[] {
  const informer = manager.informer(instances);
  informer.addIndex('volume', mountedVolumes);
  informer.addIndex('data', ({ namespace, template }) =>
    usedData(template).map((used) => `${used.kind} ${namespace}/${used.name}`),
  );
  informer.addIndex('uid', (instance) => [instance.metadata.uid]);
  const keysOf = (found: readonly Instance[]) =>
    found.map(({ namespace, name }) => ({ namespace, name }));
  const usersOf = (volume: Volume) => informer.lister.byIndex('volume', keyString(volume));
  const withTwins = (volume: Volume) => [volume, ...volumeManager.onStorageOf(volume)];
  /** Instances without the volume that they mount: its holder, or that of its storage, may be what they wait for. */
  const waitersFor = (volume: Volume): readonly Instance[] =>
    withTwins(volume).flatMap((twin) => {
      const attached = (twin.attachments ?? []).filter(({ state }) => state === 'Attached');
      const served = new Set(attached.map(({ claim }) => claim));
      return usersOf(twin).filter((instance) => !served.has(claimOf(instance)));
    });
  const keysOfVolume = (volume: Volume, other?: Volume): readonly ObjectKey[] => {
    const changes = other && attachmentChanges(volume, other);
    // Else of N instances with one volume, each that comes or goes would wake all others.
    if (changes?.isAll)
      return [
        ...changes.claims.map(keyOfClaim),
        ...(changes.isMoved ? keysOf(waitersFor(volume)) : []),
      ];
    // A deleted one is in no index: it is its own twin here.
    return [...keysOf(withTwins(volume).flatMap(usersOf)), ...holdersOf(volume, node)];
  };
  controller
    .for(informer)
    .watches(manager.informer(volumes), keysOfVolume)
    .watches(manager.informer(secrets), ({ namespace, name }) =>
      keysOf(informer.lister.byIndex('data', `secret ${namespace}/${name}`)),
    )
    .watches(manager.informer(configmaps), ({ namespace, name }) =>
      keysOf(informer.lister.byIndex('data', `configmap ${namespace}/${name}`)),
    );
  return (uid) => keysOf(informer.lister.byIndex('uid', uid));
}
