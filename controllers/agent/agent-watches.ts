import { type Controller, keyString, type Manager, type ObjectKey } from 'kedge';
import { configmaps } from '../configmap/kind.js';
import { type Instance, instances } from '../instance/kind.js';
import { secrets } from '../secret/kind.js';
import { usedData } from '../service/index.js';
import { mountedVolumes } from '../references/claim.js';
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

/**
 * Returns a function that finds the storage class of the first volume of an instance; empty if there is none, or it is
 * not in the cache.
 */
export function classOfInstance(manager: Manager): (key: ObjectKey) => string {
  const all = manager.informer(instances).lister;
  const mounted = manager.informer(volumes).lister;
  return (key) => {
    const instance = all.get(keyString(key));
    const [volume] = instance ? mountedVolumes(instance) : [];
    return (volume === undefined ? undefined : mounted.get(volume)?.storageClassName) ?? '';
  };
}

function isAttached({ attachments = [] }: Volume): boolean {
  return attachments.length > 0;
}

/** The keys of the instances that have an attachment of a volume on a node. */
function holdersOf(volume: Volume, node: string): readonly ObjectKey[] {
  return (volume.attachments ?? [])
    .filter((attachment) => attachment.node === node)
    .map(({ claim }) => keyOfClaim(claim));
}

/**
 * Watches the dependencies of instances: the instance, its volumes, other volumes with the same storage, and its
 * secrets and configmaps. Returns a function that finds the key of a cached instance by its uid; empty without one.
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
  /**
   * Instances that do not have the volume that they mount. They may wait for the holder of this volume, or of another
   * one with the same storage.
   */
  const waitersFor = (volume: Volume): readonly Instance[] =>
    withTwins(volume).flatMap((twin) => {
      const attached = (twin.attachments ?? []).filter(({ state }) => state === 'Attached');
      const served = new Set(attached.map(({ claim }) => claim));
      return usersOf(twin).filter((instance) => !served.has(claimOf(instance)));
    });
  const isUnused = (volume: Volume): boolean =>
    withTwins(volume).every((twin) => usersOf(twin).length === 0);
  const keysOfVolume = (volume: Volume, other?: Volume): readonly ObjectKey[] => {
    // A volume that no node has attached queues nothing, also if it has changed, unless an instance mounts it or
    // another one with the same storage.
    if (!isAttached(volume) && !(other && isAttached(other)) && isUnused(volume)) return [];
    const changes = other && attachmentChanges(volume, other);
    // A changed attachment queues only the instances that it concerns: otherwise each of N attachments of a shared
    // volume would queue N instances.
    if (changes?.isAll)
      return [
        ...changes.claims.map(keyOfClaim),
        // A node sees a volume only while it uses it. If nothing relevant differs, the cached state may be that of an
        // earlier use, and holders that came and went meanwhile were missed.
        ...(changes.isMoved || changes.claims.length === 0 ? keysOf(waitersFor(volume)) : []),
      ];
    // withTwins adds the volume itself, because a deleted volume is no longer in an index.
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
