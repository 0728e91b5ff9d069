import { DriverError, type OrphanListing, type PermissionReport } from '@kedge/driver-sdk';
import { bytesOf } from '@kedge/driver-sdk/provider';
import type { Caller, Cloud2Api } from './api.js';
import { labelKeys, labelValue } from './names.js';

/** What the token of a class permits, by reads alone. A token of Hetzner Cloud reads, or reads and writes. */
export async function checkToken(
  api: Cloud2Api,
  caller: Caller,
  node: string,
): Promise<readonly PermissionReport[]> {
  const needed = 'observing volumes and finding the server of a node';
  const error = await api.serversNamed(caller, node).then(
    () => undefined,
    (thrown: unknown) => DriverError.from(thrown),
  );
  const missing = error?.kind === 'CredentialsRejected' ? 'missing' : 'unknown';
  return [
    {
      permission: 'Read',
      state: error ? missing : 'ok',
      needed,
      ...(error ? { message: error.message } : {}),
    },
    {
      permission: 'Read & Write',
      state: error && missing === 'missing' ? 'missing' : 'unknown',
      needed: 'provisioning, attaching, detaching, growing and deleting volumes',
    },
  ];
}

/** The volumes of this installation. Only this call lists volumes without a name. */
export async function listResources(
  api: Cloud2Api,
  caller: Caller,
  cluster: string,
): Promise<OrphanListing> {
  const selector = `${labelKeys.cluster}==${labelValue(cluster)}`;
  const found = await api.volumes(caller, { label_selector: selector });
  const resources = found.map(({ id, name, sizeGib, server, labels }) => {
    const uid = labels[labelKeys.uid];
    return {
      type: 'volume' as const,
      handle: id,
      name,
      sizeBytes: bytesOf(sizeGib),
      cluster,
      ...(uid === undefined ? {} : { uid }),
      ...(server === undefined ? {} : { instance: server }),
    };
  });
  return { resources, warnings: [] };
}
