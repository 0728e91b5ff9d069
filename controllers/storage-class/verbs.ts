import { notFound } from 'kedge';
import type { JsonObject } from 'kedge/rpc';
import type { ApiParts, CallContext, CustomMethod, Verdict, WriteRequest } from 'kedge/server';
import { storageClasses } from './kind.js';

/** Makes a class the default and unsets the others in the same transaction, so that exactly one is the default. */
async function setDefault(
  parts: ApiParts,
  context: CallContext,
  request: JsonObject,
): Promise<JsonObject> {
  const name = String(request.name);
  const served = parts.served.get('StorageClass');
  if (!served) throw new TypeError('storage classes are not served');
  const { admission, resources } = parts;
  return parts.writes.run(context, async (validation): Promise<Verdict<JsonObject>> => {
    const classes = await validation.lookupAll(storageClasses);
    const wanted = await validation.stored(storageClasses, { name });
    if (!wanted) throw notFound({ kind: 'StorageClass', name });
    const requests: WriteRequest[] = [];
    for (const item of classes) {
      const isWanted = item.name === name;
      if ((item.default === true) === isWanted) continue;
      const stored = await validation.stored(storageClasses, { name: item.name });
      if (!stored) continue;
      const object = { ...resources.show(served, stored), default: isWanted, metadata: {} };
      requests.push({ served, namespace: undefined, name: item.name, object, mode: 'update' });
    }
    const writes = await admission.prepare(validation, requests);
    const at = writes.findIndex(({ key }) => key.name === name);
    return {
      type: 'commit',
      operations: writes.map(({ operation }) => operation),
      answer: (results) => resources.show(served, results[at]?.object ?? wanted),
    };
  });
}

/** Custom methods of storage classes. */
export function storageClassVerbs(parts: ApiParts): readonly CustomMethod[] {
  return [
    {
      id: 'StorageClassService.SetDefault',
      access: { type: 'policy', resource: 'storageclasses', verb: 'update', scope: 'Cluster' },
      handler: { type: 'unary', call: (context, request) => setDefault(parts, context, request) },
    },
  ];
}
