import { hasCode, notFound, type Operation } from 'kedge';
import type { JsonObject } from 'kedge/rpc';
import type { ApiParts, CustomMethod } from 'kedge/server';
import { type StorageClass, storageClasses } from '../kinds/index.js';

const triesMax = 5;

function withDefault(storageClass: StorageClass, value: boolean): Operation {
  const { uid, resourceVersion, annotations } = storageClass.metadata;
  const metadata = annotations ? { annotations } : {};
  const object: Omit<StorageClass, 'metadata'> & { metadata: object } = {
    ...storageClass,
    default: value,
    metadata,
  };
  return {
    op: 'update',
    kind: storageClasses,
    object,
    precondition: { uid, resourceVersion },
  };
}

/** Moves the flag in one transaction: at no time are there two defaults, or none. */
async function setDefault(parts: ApiParts, request: JsonObject): Promise<JsonObject> {
  const name = String(request.name);
  for (let tries = 1; ; tries += 1) {
    const { items } = await parts.store.list(storageClasses);
    const wanted = items.find((item) => item.name === name);
    if (!wanted) throw notFound({ kind: 'StorageClass', name });
    const operations = items
      .filter((item) => (item.default === true) !== (item.name === name))
      .map((item) => withDefault(item, item.name === name));
    try {
      if (operations.length > 0) await parts.store.transact(operations);
      const served = parts.served.get('StorageClass');
      const now = (await parts.store.get(storageClasses, { name })) ?? wanted;
      return served ? parts.resources.show(served, now) : {};
    } catch (error) {
      // A class changed between reading and writing: look again.
      if (!hasCode(error, 'Aborted') || tries >= triesMax) throw error;
    }
  }
}

/** Custom methods of storage classes. */
export function storageClassVerbs(parts: ApiParts): readonly CustomMethod[] {
  return [
    {
      id: 'StorageClassService.SetDefault',
      access: { type: 'policy', resource: 'storageclasses', verb: 'update', scope: 'Cluster' },
      handler: { type: 'unary', call: (_context, request) => setDefault(parts, request) },
    },
  ];
}
