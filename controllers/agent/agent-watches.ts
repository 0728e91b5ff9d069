import { type Controller, keyString, type Manager, type ObjectKey } from 'kedge';
import { configmaps } from '../configmap/kind.js';
import { type Instance, instances } from '../instance/kind.js';
import { secrets } from '../secret/kind.js';
import { mountedVolumes, usedData } from '../service/index.js';
import { type Volume, volumes } from '../volume/kind.js';
import type { VolumeManager } from './volumes/volume-manager.js';

/** Ports of {@link watchInstances}. */
export interface AgentWatchOptions {
  readonly manager: Manager;
  readonly node: string;
  readonly volumeManager: VolumeManager;
}

/** Keys of those that hold a volume on a node, by its own account: they may be gone. */
function holdersOf(volume: Volume, node: string): readonly { namespace: string; name: string }[] {
  return (volume.attachments ?? [])
    .filter((attachment) => attachment.node === node)
    .map(({ claim }) => {
      const [namespace = '', name = ''] = claim.split('/');
      return { namespace, name };
    });
}

/**
 * What wakes an instance: itself, its volumes and others on their storage, and the secrets and configmaps that it
 * uses. Gives the keys by the uid of an instance.
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
      // One that is gone is in no index any more.
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
