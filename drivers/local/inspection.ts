import { basename, join } from 'node:path';
import {
  type ClassRequest,
  DriverError,
  type FindRequest,
  type NodeHost,
  nodeTopologyKey,
  type OrphanListing,
  type PermissionReport,
  programReports,
  type ProviderResource,
  type StorageRoot,
} from '@kedge/driver-sdk';
import { imagePrograms } from './image-volume.js';

const toImages = 'volumes with backing "image"';

async function rootReport(root: StorageRoot): Promise<PermissionReport> {
  const row = { permission: `storage root ${root.path}`, needed: 'every volume' } as const;
  try {
    await root.use(() => Promise.resolve());
    return { ...row, state: 'ok' };
  } catch (thrown) {
    return { ...row, state: 'missing', message: DriverError.from(thrown).message };
  }
}

/** Loop devices and mounts need the rights of root. */
async function rightsReport({ run }: NodeHost, signal: AbortSignal): Promise<PermissionReport> {
  const row = { permission: 'rights of root', needed: toImages } as const;
  const found = await run('id', ['-u'], signal).catch(() => undefined);
  if (found?.exitCode !== 0) return { ...row, state: 'unknown' };
  if (found.stdout.trim() === '0') return { ...row, state: 'ok' };
  const message = 'loop devices and mounts need root; run kedged as root, or use backing directory';
  return { ...row, state: 'missing', message };
}

/**
 * Reports whether this node has the needs of a class: the storage root, and for images the programs and the rights of
 * root.
 */
export async function checkNode(
  root: StorageRoot,
  host: NodeHost,
  { parameters, signal }: ClassRequest,
): Promise<readonly PermissionReport[]> {
  const ofRoot = await rootReport(root);
  if (parameters.backing !== 'image') return [ofRoot];
  const programs = await programReports(host.run, imagePrograms(parameters), toImages, signal);
  return [ofRoot, ...programs, await rightsReport(host, signal)];
}

const entryForm = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(\.img)?$/;

/**
 * The complete volumes or snapshots in a folder; none if the folder does not exist. Entries of unfinished calls have
 * other names and are omitted.
 */
async function entriesIn(
  { files }: NodeHost,
  folder: string,
  type: ProviderResource['type'],
  cluster: string | undefined,
): Promise<readonly ProviderResource[]> {
  if ((await files.kindAt(folder)) !== 'directory') return [];
  const found: ProviderResource[] = [];
  for (const name of await files.list(folder)) {
    const [, uid, isImage] = entryForm.exec(name) ?? [];
    if (uid === undefined) continue;
    const handle = join(folder, name);
    const sizeBytes = isImage === undefined ? undefined : await files.size(handle);
    const marked = cluster === undefined ? {} : { cluster };
    found.push({ type, handle, name: uid, sizeBytes, uid, ...marked });
  }
  return found;
}

/**
 * The volumes and snapshots in a root. They belong to `cluster`, because the root is used only if it has the mark of
 * this cluster.
 */
export function listRoot(
  root: StorageRoot,
  host: NodeHost,
  cluster: string | undefined,
): Promise<OrphanListing> {
  return root.use(async (directory) => ({
    resources: [
      ...(await entriesIn(host, directory, 'volume', cluster)),
      ...(await entriesIn(host, join(directory, 'snapshots'), 'snapshot', cluster)),
    ],
    warnings: [],
  }));
}

/** A volume in a root, by its path or the name of its directory or image. @throws DriverError NotFound */
export async function findInRoot(
  root: StorageRoot,
  host: NodeHost,
  cluster: string | undefined,
  { handle, node }: FindRequest,
): Promise<ProviderResource> {
  const { resources } = await listRoot(root, host, cluster);
  const found = resources.find(
    (one) => one.type === 'volume' && (one.handle === handle || basename(one.handle) === handle),
  );
  if (found) return { ...found, topology: { [nodeTopologyKey]: node } };
  throw new DriverError(
    'NotFound',
    `storage root ${root.path} has no volume ${handle}; kedge admin orphans lists those that can be imported`,
  );
}
