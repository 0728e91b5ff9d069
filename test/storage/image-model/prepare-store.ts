import type { ObjectStore } from 'kedge';
import { namespaceFinalizer, namespaces, nodes, storageClasses } from '@kedge/controllers';
import { nodeTopologyKey } from '@kedge/driver-sdk';

/** Namespace of the model's volumes. */
export const namespace = 'default';
/** Class of the model's volumes: images of driver `local`. */
export const imageClass = 'image';

/** Creates the initial objects. Succeeds for a store that has them. */
export async function prepareStore(store: ObjectStore): Promise<void> {
  if (await store.get(namespaces, { name: namespace })) return;
  const finalizers = [namespaceFinalizer];
  await store.create(namespaces, { name: namespace, metadata: { finalizers } });
  await store.create(nodes, { name: 'n1', labels: { [nodeTopologyKey]: 'n1' } });
  await store.create(storageClasses, {
    name: imageClass,
    driver: 'local',
    reclaimPolicy: 'delete',
    parameters: { backing: 'image' },
  });
}
