import {
  type AttachResult,
  type BlockAttachRequest,
  type BlockDetachRequest,
  DriverError,
  type Observed,
  type Pending,
} from '@kedge/driver-sdk';
import { absent, carryOut, done, isKind, underWay } from '@kedge/driver-sdk/provider';
import type { CloudDisk } from './resources.js';
import type { Cloud4Disks } from './disks.js';
import { diskHandle, diskPathOf } from './names.js';
import { type Requests } from './requests.js';
import type { Caller } from './session.js';

/** Attaches disks to instances, and detaches them. Errors are DriverError. */
export class Cloud4Attachments {
  readonly #requests: Requests;
  readonly #disks: Cloud4Disks;

  constructor(requests: Requests, disks: Cloud4Disks) {
    this.#requests = requests;
    this.#disks = disks;
  }

  /** Attaches a disk. The disk of a ReadOnlyMany volume is attached read-only, also to several instances. */
  async attach(request: BlockAttachRequest, link: string): Promise<AttachResult | Pending> {
    const { instance, volume, operations } = request;
    const { api, client } = this.#requests;
    const caller = this.#requests.callerOf(request);
    const isShared = volume.accessMode === 'ReadOnlyMany';
    const mode = isShared ? 'READ_ONLY' : 'READ_WRITE';
    let seen: CloudDisk | undefined;
    let isOurs = (await operations.get('attach')) !== undefined;
    const observe = async (): Promise<Observed<AttachResult>> => {
      seen = await this.#disks.require(request);
      const { status, users } = seen;
      if (users.includes(instance)) {
        // A disk that another program attached may have another link, or be writable where others read it.
        if (!isOurs) await this.#requireOwn(caller, seen, instance, mode);
        return done({ devicePath: link });
      }
      if (status === 'CREATING' || status === 'RESTORING') return underWay;
      if (status !== 'READY')
        throw new DriverError(
          'Unavailable',
          `disk ${diskHandle(seen)} has status ${status} and can't be attached now; it is attached once it is READY`,
        );
      const [other] = users;
      if (other === undefined || isShared) return absent;
      throw new DriverError(
        'InUse',
        `disk ${diskHandle(seen)} is attached to instance ${other}, not to ${instance} (node "${request.node}"); it is attached once it is detached there`,
      );
    };
    try {
      return await carryOut(client.clock, request, 'attach', {
        observe,
        start: async (requestId) => {
          isOurs = true;
          const disk = seen ?? (await this.#disks.require(request));
          return api.attachDisk(caller, disk, instance, requestId, mode);
        },
        state: (id) => api.operationState(caller, id),
      });
    } catch (error) {
      if (!isKind(error, 'InUse')) throw error;
      // The refusal of a second attach to the same instance. If the lookup fails, the refusal is reported.
      const observed = await observe().catch(() => undefined);
      if (observed?.type === 'done') return observed.result;
      throw error;
    }
  }

  /**
   * Refuses an attachment that differs from those that this driver makes.
   * @throws DriverError InUse if the instance has the disk under another device name, or in another mode
   */
  async #requireOwn(
    caller: Caller,
    disk: CloudDisk,
    instance: string,
    mode: string,
  ): Promise<void> {
    const { disks } = await this.#requests.api.instance(caller, disk, instance);
    const found = disks.find(({ source }) => source.endsWith(diskHandle(disk)));
    if (!found) return;
    const wrong =
      found.deviceName === disk.name
        ? found.mode !== '' && found.mode !== mode && `in mode ${found.mode}, not ${mode}`
        : `with the device name ${found.deviceName}, not ${disk.name}`;
    if (wrong === false) return;
    throw new DriverError(
      'InUse',
      `disk ${diskHandle(disk)} is attached to instance ${instance} ${wrong}: this driver did not attach it; detach it`,
    );
  }

  async detach(request: BlockDetachRequest): Promise<void | Pending> {
    const { instance } = request;
    const { api, client } = this.#requests;
    const caller = this.#requests.callerOf(request);
    const observe = async (): Promise<Observed<undefined>> => {
      if (instance === undefined) return done(undefined);
      const found = await this.#disks.ofHandle(request);
      return found?.users.includes(instance) ? absent : done(undefined);
    };
    try {
      return await carryOut(client.clock, request, 'detach', {
        observe,
        start: async (requestId) => {
          const path = diskPathOf(request.handle) ?? (await this.#disks.require(request));
          return api.detachDisk(caller, path, instance ?? '', path.name, requestId);
        },
        state: (id) => api.operationState(caller, id),
      });
    } catch (error) {
      if (!isKind(error, 'NotFound')) throw error;
      const observed = await observe();
      if (observed.type !== 'done') throw error;
      return request.operations.clear('detach');
    }
  }
}
