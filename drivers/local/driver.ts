import { mkdir } from 'node:fs/promises';
import {
  type Capabilities,
  demandParameters,
  type Driver,
  DriverError,
  fsTypeRule,
  type HandleRequest,
  type Parameters,
  type RunCommand,
  runCommand,
  type StorageSettings,
  uncheckedStorageRoot,
  validateByRules,
} from '@kedge/driver-sdk';
import { copyDirectory } from './copy.js';
import { ImageVolumes, sizeOfImage } from './image-volume.js';
import {
  attempt,
  demandOwn,
  kindAt,
  LocalPaths,
  makeWhole,
  type Place,
  removeWhole,
  syncFolder,
} from './paths.js';

const capabilities: Capabilities = {
  accessModes: ['ReadWriteOnce'],
  snapshots: true,
  clone: false,
  expand: true,
  onlineExpand: true,
  blockDevice: false,
  topologyKeys: [],
  sensitiveParameters: [],
  ownsData: true,
};

const rules = [{ key: 'backing', values: ['directory', 'image'] }, fsTypeRule];

const validate: Driver['validateParameters'] = (parameters, context) => [
  ...validateByRules(rules, parameters, context),
  ...(parameters.fsType !== undefined && !isImage(parameters)
    ? [{ key: 'fsType', description: 'is used only with backing "image"' }]
    : []),
];

function isImage(parameters: Parameters): boolean {
  return parameters.backing === 'image';
}

/**
 * `local`: volumes under [storage].localVolumeRoot (specification section 2.5). With backing
 * `directory` (the default) a directory each, its size informational; with `image` a file system in a
 * sparse image, its size enforced. Snapshots share blocks where the file system can, else they are
 * copies; those of an image are of one point in time, those of a directory are copied file by file.
 */
export function createLocalDriver(
  settings: Pick<StorageSettings, 'localVolumeRoot' | 'storageRoot'>,
  run: RunCommand = runCommand,
): Driver {
  const root = settings.storageRoot ?? uncheckedStorageRoot(settings.localVolumeRoot);
  const images = new ImageVolumes(run);

  /** Runs a call in the root, and tells what the file system refuses as the driver's error. */
  const inRoot = <T>(what: string, call: (paths: LocalPaths) => Promise<T>): Promise<T> =>
    attempt(what, () => root.use((directory) => call(new LocalPaths(directory))));
  /** The volume's place, the handle found to be of it. */
  const owned = (paths: LocalPaths, request: HandleRequest): Place => {
    const place = paths.volume(request.volume.uid);
    demandOwn(place, request.handle);
    return place;
  };
  const demandThere = async (path: string): Promise<void> => {
    if ((await kindAt(path)) !== 'absent') return;
    throw new DriverError('NotFound', `${path} does not exist`);
  };

  return {
    name: 'local',
    capabilities: () => capabilities,
    validateParameters: validate,
    provision: (request) =>
      inRoot('make the volume', async (paths) => {
        demandParameters(validate(request.parameters, { level: 'resolved' }));
        const { directory, image, folder } = paths.volume(request.volume.uid);
        const { sizeBytes, parameters, signal } = request;
        if (isImage(parameters))
          return {
            handle: image,
            sizeBytes: await images.make(image, sizeBytes, parameters, signal),
          };
        await mkdir(directory, { recursive: true, mode: 0o755 });
        await syncFolder(folder);
        return { handle: directory, sizeBytes };
      }),
    observe: (request) =>
      inRoot('look at the volume', async (paths) => {
        const place = paths.volume(request.volume.uid);
        demandOwn(place, request.handle);
        if (isImage(request.parameters))
          return { handle: place.image, sizeBytes: await sizeOfImage(place.image) };
        await demandThere(place.directory);
        return { handle: place.directory, sizeBytes: undefined };
      }),
    delete: (request) =>
      inRoot('delete the volume', async (paths) => {
        const place = paths.volume(request.volume.uid);
        demandOwn(place, request.handle);
        if ((await kindAt(place.image)) === 'file')
          await images.detach(place.image, request.signal);
        await removeWhole(place);
      }),
    attach: (request) =>
      inRoot('attach the volume', async (paths) => {
        const { directory, image } = owned(paths, request);
        if (isImage(request.parameters))
          return { devicePath: await images.attach(image, request.signal) };
        await demandThere(directory);
        return { devicePath: '' };
      }),
    detach: (request) =>
      inRoot('detach the volume', async (paths) => {
        const { image } = owned(paths, request);
        if ((await kindAt(image)) === 'file') await images.detach(image, request.signal);
      }),
    mount: (request) =>
      inRoot('mount the volume', async (paths) => {
        const { directory } = owned(paths, request);
        return isImage(request.parameters) ? images.mount(request) : { path: directory };
      }),
    unmount: (request) =>
      inRoot('unmount the volume', async (paths) => {
        const { image } = owned(paths, request);
        if (isImage(request.parameters))
          await images.unmount(image, request.target, request.signal);
      }),
    expand: (request) =>
      inRoot('grow the volume', async (paths) => {
        const { directory, image } = owned(paths, request);
        const { sizeBytes, parameters, signal } = request;
        if (isImage(parameters)) return images.grow(image, sizeBytes, parameters, signal);
        await demandThere(directory);
        return { sizeBytes, fileSystemPending: false };
      }),
    createSnapshot: (request) =>
      inRoot('make the snapshot', async (paths) => {
        const { directory, image } = owned(paths, request);
        const to = await paths.snapshot(request.snapshot.uid);
        const { signal } = request;
        if (isImage(request.parameters)) {
          const restoreSizeBytes = await images.snapshot(image, to.image, signal);
          return { handle: to.image, restoreSizeBytes, ready: true };
        }
        await demandThere(directory);
        await makeWhole(to.directory, (draft) => copyDirectory(run, directory, draft, signal));
        return { handle: to.directory, restoreSizeBytes: 0n, ready: true };
      }),
    observeSnapshot: (request) =>
      inRoot('look at the snapshot', async (paths) => {
        const place = await paths.snapshot(request.snapshot.uid);
        demandOwn(place, request.handle);
        if ((await kindAt(place.image)) === 'file')
          return {
            handle: place.image,
            restoreSizeBytes: await sizeOfImage(place.image),
            ready: true,
          };
        await demandThere(place.directory);
        return { handle: place.directory, restoreSizeBytes: 0n, ready: true };
      }),
    deleteSnapshot: (request) =>
      inRoot('delete the snapshot', async (paths) => {
        const place = await paths.snapshot(request.snapshot.uid);
        demandOwn(place, request.handle);
        await removeWhole(place);
      }),
    restore: (request) =>
      inRoot('restore the snapshot', async (paths) => {
        demandParameters(validate(request.parameters, { level: 'resolved' }));
        const from = await paths.snapshot(request.snapshot.uid);
        demandOwn(from, request.snapshot.handle);
        const { directory, image } = paths.volume(request.volume.uid);
        const { sizeBytes, signal } = request;
        const fromImage = (await kindAt(from.image)) === 'file';
        if (!fromImage) await demandThere(from.directory);
        if (fromImage !== isImage(request.parameters))
          throw new DriverError(
            'InvalidParameters',
            `the snapshot is of backing "${fromImage ? 'image' : 'directory'}"; use a class with the same backing`,
          );
        if (fromImage)
          return {
            handle: image,
            sizeBytes: await images.restore(from.image, image, sizeBytes, signal),
          };
        await makeWhole(directory, (draft) => copyDirectory(run, from.directory, draft, signal));
        return { handle: directory, sizeBytes };
      }),
  };
}
