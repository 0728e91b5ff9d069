import { type Controller, keyString, type Manager, type ObjectKey } from 'kedge';
import { configmaps } from '../configmap/kind.js';
import { type Instance, instances } from '../instance/kind.js';
import { secrets } from '../secret/kind.js';
import { mountedVolumes, usedData } from '../service/index.js';
import { type Volume, volumes } from '../volume/kind.js';
import type { VolumeManager } from './volumes/volume-manager.js';

/** Dependencies of {@link watchInstances}. */
export interface AgentWatchOptions {
  readonly manager: Manager;
  readonly node: string;
  readonly volumeManager: VolumeManager;
}

/** Keys of the holders of a volume on a node, from the volume's status: they may not exist. */
function holdersOf(volume: Volume, node: string): readonly { namespace: string; name: string }[] {
  return (volume.attachments ?? [])
    .filter((attachment) => attachment.node === node)
    .map(({ claim }) => {
      const [namespace = '', name = ''] = claim.split('/');
      return { namespace, name };
    });
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
  controller
    .for(informer)
    .watches(manager.informer(volumes), (volume) => [
      // A deleted one is in no index.
      ...keysOf(informer.lister.byIndex('volume', keyString(volume))),
      ...volumeManager
        .onStorageOf(volume)
        .flatMap((twin) => keysOf(informer.lister.byIndex('volume', keyString(twin)))),
      ...holdersOf(volume, node),
    ])
    .watches(manager.informer(secrets), ({ namespace, name }) =>
      keysOf(informer.lister.byIndex('data', `secret ${namespace}/${name}`)),
    )
    .watches(manager.informer(configmaps), ({ namespace, name }) =>
      keysOf(informer.lister.byIndex('data', `configmap ${namespace}/${name}`)),
    );
  return (uid) => keysOf(informer.lister.byIndex('uid', uid));
}
