import { failedPrecondition, invalid } from 'kedge';
import { type JsonObject, textOf } from 'kedge/rpc';
import type { CustomMethod } from 'kedge/server';
import type { StorageRootManager } from './manager.js';

/** Options of the method that adopts a storage root. */
export interface StorageRootVerbOptions {
  /** The storage root of this process. Absent: it has none. */
  readonly storageRoot?: Pick<StorageRootManager, 'adopt' | 'path'>;
}

async function adopt(
  { storageRoot }: StorageRootVerbOptions,
  request: JsonObject,
): Promise<JsonObject> {
  const path = textOf(request, 'path');
  if (path === '') throw invalid([{ field: 'path', description: 'is required' }]);
  if (!storageRoot)
    throw failedPrecondition(
      'NotTheStorageRoot',
      'this server has no storage root; call the server of the node that has it',
    );
  return { path: storageRoot.path, earlierClusterId: await storageRoot.adopt(path) };
}

/** `AdminService.AdoptStorageRoot`. */
export function storageRootVerbs(options: StorageRootVerbOptions): readonly CustomMethod[] {
  return [
    {
      id: 'AdminService.AdoptStorageRoot',
      access: { type: 'policy', resource: 'storageroots', verb: 'update', scope: 'Cluster' },
      handler: { type: 'unary', call: (_context, request) => adopt(options, request) },
    },
  ];
}
