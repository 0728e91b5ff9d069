import {
  type CallContext,
  type Capabilities,
  type Driver,
  DriverError,
  fsTypeRule,
  type HandleRequest,
  isSecretReference,
  memoryJournal,
  nodeTopologyKey,
  type ParameterContext,
  type Parameters,
  requireParameters,
  type SnapshotResult,
  type StorageSettings,
  thisNode,
  uncheckedStorageRoot,
  validateByRules,
} from '@kedge/driver-sdk';
import { copyDirectory } from './copy.js';
import { ImageVolumes, sizeOfImage } from './image-volume.js';
import { reportFullDisk } from './full-disk.js';
import { checkNode, findInRoot, listRoot } from './inspection.js';
import { attempt, requireOwn, LocalPaths, makeWhole, type Place, removeWhole } from './paths.js';

const capabilities: Capabilities = {
  accessModes: ['ReadWriteOnce'],
  snapshots: true,
  clone: false,
  expand: true,
  onlineExpand: true,
  blockDevice: false,
  topologyKeys: [nodeTopologyKey],
  sensitiveParameters: [],
  ownsData: true,
};

const rules = [{ key: 'backing', values: ['directory', 'image'] }, fsTypeRule];

const validate: Driver['validateParameters'] = (parameters, context) => [
  ...validateByRules(rules, parameters, context),
  ...(parameters.fsType !== undefined && !mayBeImage(parameters, context)
    ? [{ key: 'fsType', description: 'is used only with backing "image"' }]
    : []),
];

function isImage(parameters: Parameters): boolean {
  return parameters.backing === 'image';
}

/** Whether the backing is `image`, or a reference whose value is not known yet. */
function mayBeImage(parameters: Parameters, { level }: ParameterContext): boolean {
  const { backing = '' } = parameters;
  return isImage(parameters) || (level !== 'resolved' && isSecretReference(backing));
}

/**
 * The recorded form of a volume. Parameters are not reliable later: `backing` may refer to a secret whose value
 * changes.
 */
function isImageHandle(handle: string): boolean {
  return handle.endsWith('.img');
}

/**
 * `local`: volumes under [storage].localVolumeRoot (specification section 2.5). With backing
 * `directory` (the default) a directory each, its size informational; with `image` a file system in a
 * sparse image, its size enforced. Snapshots share blocks if the file system supports it, else they are
 * copies. Those of an image are of one point in time, those of a directory are copied file by file.
 */
export function createLocalDriver(
  settings: Pick<
    StorageSettings,
    'localVolumeRoot' | 'storageRoot' | 'journal' | 'host' | 'clusterId'
  >,
): Driver {
  const { host = thisNode } = settings;
  const { files, run, turns } = host;
  const root = settings.storageRoot ?? uncheckedStorageRoot(settings.localVolumeRoot);
  const images = new ImageVolumes(host, settings.journal ?? memoryJournal());

  /** Runs a call in the root, and converts file system errors to driver errors. */
  const inRoot = <T>(what: string, call: (paths: LocalPaths) => Promise<T>): Promise<T> =>
    attempt(what, () =>
      root.use((directory) =>
        reportFullDisk(files, directory, () => call(new LocalPaths(directory, files))),
      ),
    );
  /**
   * Like `inRoot`, serialized per volume over all drivers of this process: a copy of an image and its attachment
   * exclude each other, as do freezing and unmounting.
   */
  const alone = <T>(
    what: string,
    request: CallContext,
    call: (paths: LocalPaths) => Promise<T>,
  ): Promise<T> =>
    turns.run(`volume ${request.volume.uid}`, () => inRoot(what, call), request.signal);
  /** The volume's place. @throws DriverError InvalidParameters for another volume's handle */
  const owned = (paths: LocalPaths, request: HandleRequest): Place => {
    const place = paths.volume(request.volume);
    requireOwn(place, request.handle);
    return place;
  };
  const requireDirectory = async (path: string): Promise<void> => {
    if ((await files.kindAt(path)) !== 'absent') return;
    throw new DriverError('NotFound', `${path} does not exist`);
  };

  return {
    name: 'local',
    capabilities: () => capabilities,
    validateParameters: validate,
    check: (request) => checkNode(root, host, request),
    orphans: () => attempt('list the volumes', () => listRoot(root, host, settings.clusterId)),
    find: (request) =>
      attempt('find the volume', () => findInRoot(root, host, settings.clusterId, request)),
    provision: (request) =>
      alone('create the volume', request, async (paths) => {
        requireParameters(validate(request.parameters, { level: 'resolved' }));
        const { directory, image, folder } = paths.volume(request.volume);
        const { sizeBytes, parameters, signal } = request;
        if (isImage(parameters))
          return {
            handle: image,
            sizeBytes: await images.make(image, sizeBytes, parameters, signal),
          };
        await files.makeFolder(directory, { parents: true, mode: 0o755 });
        await files.syncFolder(folder);
        return { handle: directory, sizeBytes };
      }),
    observe: (request) =>
      inRoot('observe the volume', async (paths) => {
        const place = paths.volume(request.volume);
        requireOwn(place, request.handle);
        if (request.handle ? isImageHandle(request.handle) : isImage(request.parameters))
          return { handle: place.image, sizeBytes: await sizeOfImage(files, place.image) };
        await requireDirectory(place.directory);
        return { handle: place.directory, sizeBytes: undefined };
      }),
    delete: (request) =>
      alone('delete the volume', request, async (paths) => {
        const place = paths.volume(request.volume);
        requireOwn(place, request.handle);
        if ((await files.kindAt(place.image)) === 'file' || (await images.isAttached(place)))
          await images.detachForDeletion(place, request.signal);
        await removeWhole(host, place);
      }),
    attach: (request) =>
      alone('attach the volume', request, async (paths) => {
        const place = owned(paths, request);
        if (isImageHandle(request.handle))
          return { devicePath: await images.attach(place, request.signal) };
        await requireDirectory(place.directory);
        return { devicePath: '' };
      }),
    detach: (request) =>
      alone('detach the volume', request, async (paths) => {
        const place = owned(paths, request);
        if (isImageHandle(request.handle)) await images.detach(place, request.signal);
      }),
    mount: (request) =>
      alone('mount the volume', request, async (paths) => {
        const place = owned(paths, request);
        return isImageHandle(request.handle)
          ? images.mount(place, request)
          : { path: place.directory };
      }),
    unmount: (request) =>
      alone('unmount the volume', request, async (paths) => {
        const place = owned(paths, request);
        if (isImageHandle(request.handle))
          await images.unmount(place, request.target, request.signal);
      }),
    expand: (request) =>
      alone('grow the volume', request, async (paths) => {
        const place = owned(paths, request);
        const { sizeBytes, parameters, signal } = request;
        if (isImageHandle(request.handle)) return images.grow(place, sizeBytes, parameters, signal);
        await requireDirectory(place.directory);
        return { sizeBytes, fileSystemPending: false };
      }),
    createSnapshot: (request) => {
      // The copy of a directory runs beside other calls for the volume; that of an image excludes them. Both also run while
      // a workload uses the volume; a mounted image is frozen meanwhile.
      const copy = async (paths: LocalPaths): Promise<SnapshotResult> => {
        const place = owned(paths, request);
        const { directory } = place;
        const to = await paths.snapshot(request.snapshot.uid);
        const { signal } = request;
        if (isImageHandle(request.handle)) {
          const restoreSizeBytes = await images.snapshot(place, to.image, signal);
          return { handle: to.image, restoreSizeBytes, ready: true };
        }
        await requireDirectory(directory);
        await makeWhole(host, to.directory, (draft) =>
          copyDirectory(run, directory, draft, signal),
        );
        return { handle: to.directory, restoreSizeBytes: 0n, ready: true };
      };
      const what = 'create the snapshot';
      return isImageHandle(request.handle) ? alone(what, request, copy) : inRoot(what, copy);
    },
    observeSnapshot: (request) =>
      inRoot('observe the snapshot', async (paths) => {
        const place = await paths.snapshot(request.snapshot.uid);
        requireOwn(place, request.handle);
        if ((await files.kindAt(place.image)) === 'file')
          return {
            handle: place.image,
            restoreSizeBytes: await sizeOfImage(files, place.image),
            ready: true,
          };
        await requireDirectory(place.directory);
        return { handle: place.directory, restoreSizeBytes: 0n, ready: true };
      }),
    deleteSnapshot: (request) =>
      inRoot('delete the snapshot', async (paths) => {
        const place = await paths.snapshot(request.snapshot.uid);
        requireOwn(place, request.handle);
        await removeWhole(host, place);
      }),
    restore: (request) =>
      alone('restore the snapshot', request, async (paths) => {
        requireParameters(validate(request.parameters, { level: 'resolved' }));
        const from = await paths.snapshot(request.snapshot.uid);
        requireOwn(from, request.snapshot.handle);
        const { directory, image } = paths.volume(request.volume);
        const { sizeBytes, signal } = request;
        const fromImage = (await files.kindAt(from.image)) === 'file';
        if (!fromImage) await requireDirectory(from.directory);
        if (fromImage !== isImage(request.parameters))
          throw new DriverError(
            'InvalidParameters',
            `the snapshot has backing "${fromImage ? 'image' : 'directory'}"; use a class with the same backing`,
          );
        if (fromImage)
          return {
            handle: image,
            sizeBytes: await images.restore(from.image, image, sizeBytes, signal),
          };
        await makeWhole(host, directory, (draft) =>
          copyDirectory(run, from.directory, draft, signal),
        );
        return { handle: directory, sizeBytes };
      }),
  };
}
