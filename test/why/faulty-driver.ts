import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type CallContext,
  type Driver,
  DriverError,
  type DriverErrorKind,
} from '@kedge/driver-sdk';

/** A driver whose parameter `fault` selects the failure: `CALL KIND MESSAGE`, such as `provision Timeout no answer`. */
export function faultyDriver(directory: string): Driver {
  const failing = async <T>(
    call: string,
    { parameters }: Pick<CallContext, 'parameters'>,
    answer: () => T,
  ) => {
    const [where, kind, ...words] = (parameters.fault ?? '').split(' ');
    if (where === call) throw new DriverError(kind as DriverErrorKind, words.join(' '));
    return answer();
  };
  const nothing = (): void => undefined;
  return {
    name: 'faulty',
    capabilities: () => ({
      ...{ accessModes: ['ReadWriteOnce'], snapshots: true, clone: false, expand: true },
      ...{ onlineExpand: true, blockDevice: false, topologyKeys: [], sensitiveParameters: [] },
      ownsData: true,
    }),
    validateParameters: () => [],
    provision: (request) =>
      failing('provision', request, () => ({
        handle: request.volume.uid,
        sizeBytes: request.sizeBytes,
      })),
    observe: (request) =>
      failing('observe', request, () => ({
        handle: request.handle ?? request.volume.uid,
        sizeBytes: undefined,
      })),
    delete: (request) => failing('delete', request, nothing),
    attach: (request) => failing('attach', request, () => ({ devicePath: '' })),
    detach: (request) => failing('detach', request, nothing),
    mount: async (request) => {
      const path = join(directory, request.volume.uid);
      await mkdir(path, { recursive: true });
      return failing('mount', request, () => ({ path }));
    },
    unmount: (request) => failing('unmount', request, nothing),
    expand: (request) =>
      failing('expand', request, () => ({
        sizeBytes: request.sizeBytes,
        fileSystemPending: false,
      })),
    createSnapshot: (request) =>
      failing('createSnapshot', request, () => ({
        handle: request.snapshot.uid,
        ready: true,
        restoreSizeBytes: 1n,
      })),
    observeSnapshot: (request) =>
      failing('observeSnapshot', request, () => ({
        handle: request.handle ?? '',
        ready: true,
        restoreSizeBytes: 1n,
      })),
    deleteSnapshot: (request) => failing('deleteSnapshot', request, nothing),
    restore: (request) =>
      failing('restore', request, () => ({
        handle: request.volume.uid,
        sizeBytes: request.sizeBytes,
      })),
  };
}
