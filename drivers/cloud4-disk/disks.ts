import {
  type CallContext,
  type DeleteRequest,
  DriverError,
  type ExpandRequest,
  type HandleRequest,
  type Observed,
  type Observation,
  type Pending,
  type ProvisionRequest,
  type ProvisionResult,
} from '@kedge/driver-sdk';
import {
  absent,
  bytesOf,
  carryOut,
  deleteFound,
  done,
  endDeletion,
  isKind,
  notYet,
  uncertainCreation,
  underWay,
  volumeName,
} from '@kedge/driver-sdk/provider';
import type { CloudDisk } from './resources.js';
import { described, diskHandle, diskPathOf, type DiskPath } from './names.js';
import { isProjectMissing } from './errors.js';
import { diskTypes } from './parameters.js';
import { ifFound, type Requests, requireSize, zoneOf } from './requests.js';
import type { Caller } from './session.js';

/** Time for which the disk of a creation without an answer may still appear, milliseconds. */
const unansweredMs = 60_000;

function provisioned(disk: CloudDisk): ProvisionResult {
  return { handle: diskHandle(disk), sizeBytes: bytesOf(disk.sizeGib) };
}

/** The driver calls for disks of Google Cloud. Errors are DriverError. */
export class Cloud4Disks {
  readonly #requests: Requests;
  /** The monotonic time of the first lookup of a disk that was not found after an unanswered creation, by uid. */
  readonly #missing = new Map<string, number>();

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * Finds the disk of a handle; undefined if it does not exist.
   * @throws DriverError InvalidParameters if the handle is that of another volume
   */
  async ofHandle(request: HandleRequest): Promise<CloudDisk | undefined> {
    const { volume, handle } = request;
    const path = diskPathOf(handle);
    if (!path) return undefined;
    if (path.name !== volumeName(volume))
      throw new DriverError(
        'InvalidParameters',
        `disk ${handle} does not belong to the volume with uid ${volume.uid}: the disk of this volume is named ${volumeName(volume)}`,
      );
    return ifFound(this.#requests.api.disk(this.#requests.callerOf(request), path));
  }

  /** Returns the disk of a handle. @throws DriverError NotFound; InvalidParameters as {@link ofHandle} */
  async require(request: HandleRequest): Promise<CloudDisk> {
    const found = await this.ofHandle(request);
    if (found) return found;
    throw new DriverError('NotFound', `Google Cloud has no disk ${request.handle} any more`);
  }

  async #find(request: DeleteRequest): Promise<CloudDisk | undefined> {
    const { handle, volume } = request;
    if (handle !== undefined) return this.ofHandle({ ...request, handle });
    const zone = zoneOf(request);
    // Without a zone no creation was possible.
    if (zone === '') return undefined;
    const project = await this.#requests.projectOf(request);
    const path = { project, zone, name: volumeName(volume) };
    return ifFound(this.#requests.api.disk(this.#requests.callerOf(request), path));
  }

  /**
   * Creates a disk in the zone of the class or of the volume's topology, or returns the existing one with its name.
   * @param source the snapshot of a restore, looked up when the disk is created
   */
  async create(
    request: ProvisionRequest,
    kind: 'provision' | 'restore',
    source?: (caller: Caller) => Promise<{ readonly sourceSnapshot: string; readonly gib: number }>,
  ): Promise<ProvisionResult | Pending> {
    const { volume, parameters, operations } = request;
    const { api, client, cluster } = this.#requests;
    const caller = this.#requests.callerOf(request);
    const { diskType = diskTypes[0] } = parameters;
    const wanted = requireSize(request.sizeBytes, diskType);
    const zone = zoneOf(request, request.topology);
    if (zone === '')
      throw new DriverError(
        'InvalidParameters',
        'parameter zone: is required, because the volume has no topology label svc.io/zone',
      );
    const project = await this.#requests.projectOf(request);
    const path: DiskPath = { project, zone, name: volumeName(volume) };
    // The first creation needs no lookup: its name is taken if the disk exists.
    const isFirst = (await operations.get(kind)) === undefined;
    let isNew = isFirst;
    let calls = 0;
    const observe = async (): Promise<Observed<ProvisionResult>> => {
      if (isNew) return absent;
      const found = await ifFound(api.disk(caller, path));
      if (!found) return absent;
      if (found.status === 'FAILED') return this.#discard(request, kind, found);
      return found.status === 'READY' ? done(provisioned(found)) : underWay;
    };
    const createdFor = `${volume.namespace}/${volume.name}`;
    try {
      return await carryOut(client.clock, request, kind, {
        observe,
        start: async (requestId) => {
          isNew = false;
          calls += 1;
          try {
            const from = await source?.(caller);
            return await api.insertDisk(caller, path, requestId, {
              name: path.name,
              sizeGb: String(Math.max(wanted, from?.gib ?? 0)),
              type: `projects/${project}/zones/${zone}/diskTypes/${diskType}`,
              description: described({ cluster, uid: volume.uid, createdFor }),
              ...(from ? { sourceSnapshot: from.sourceSnapshot } : {}),
            });
          } catch (thrown) {
            // No disk was created, so a deletion need not wait for one. A refusal says nothing about an earlier call.
            const isOnly = isFirst && calls === 1;
            if (isOnly && !uncertainCreation.includes(DriverError.from(thrown).kind))
              await operations.clear(kind);
            throw thrown;
          }
        },
        state: (id) => api.operationState(caller, id),
      });
    } catch (thrown) {
      const error = DriverError.from(thrown);
      if (isProjectMissing(error))
        throw new DriverError('InvalidParameters', error.message, { cause: thrown });
      if (error.kind !== 'AlreadyExists') throw error;
      const seen = await observe();
      if (seen.type !== 'done') return notYet(2_000);
      await operations.clear(kind);
      return seen.result;
    }
  }

  /**
   * Deletes a disk whose creation failed, because its name is needed for the next attempt. The attempt's key would
   * return the failed creation.
   */
  async #discard(
    request: CallContext,
    kind: 'provision' | 'restore',
    disk: CloudDisk,
  ): Promise<never> {
    const { operations } = request;
    const { api } = this.#requests;
    const requestId = crypto.randomUUID();
    await deleteFound({ operations, handle: undefined }, requestId, async () => {
      await ifFound(api.deleteDisk(this.#requests.callerOf(request), disk, requestId));
    });
    await operations.clear(kind);
    await endDeletion(operations);
    throw new DriverError(
      'Unavailable',
      `the creation of disk ${diskHandle(disk)} has failed at Google Cloud; it is deleted and created again`,
    );
  }

  async observe(request: DeleteRequest): Promise<Observation> {
    const found = await this.#find(request);
    const { uid } = request.volume;
    if (!found || found.status === 'DELETING')
      throw new DriverError('NotFound', `Google Cloud has no disk of ${uid}`);
    if (found.status === 'READY') return provisioned(found);
    throw new DriverError('Unavailable', `disk ${diskHandle(found)} has status ${found.status}`);
  }

  async delete(request: DeleteRequest): Promise<void | Pending> {
    const { operations, signal } = request;
    const { api, client } = this.#requests;
    const caller = this.#requests.callerOf(request);
    for (const kind of ['provision', 'restore'] as const)
      if (await this.#requests.runs(caller, operations, kind)) return notYet(2_000);
    const observe = async (): Promise<Observed<'gone'>> => {
      const found = await this.#find(request);
      if (!found) return done('gone');
      if (found.status === 'DELETING') return underWay;
      const [instance] = found.users;
      if (instance === undefined) return absent;
      throw new DriverError(
        'InUse',
        `disk ${diskHandle(found)} is attached to instance ${instance}; it is deleted once it is detached`,
      );
    };
    const deleted = await carryOut(client.clock, { operations, signal }, 'delete', {
      observe,
      start: async (requestId) => {
        const path = diskPathOf(request.handle ?? '') ?? (await this.#pathOf(request));
        return api.deleteDisk(caller, path, requestId);
      },
      state: (id) => api.operationState(caller, id),
    }).catch(async (error: unknown) => {
      if (!isKind(error, 'NotFound')) throw error;
      await operations.clear('delete');
      return 'gone' as const;
    });
    return deleted === 'gone' ? this.#gone(request) : deleted;
  }

  async #pathOf(request: DeleteRequest): Promise<DiskPath> {
    const project = await this.#requests.projectOf(request);
    return { project, zone: zoneOf(request), name: volumeName(request.volume) };
  }

  /** Ends the deletion of an absent disk, after a minute without it if an unanswered creation may still create it. */
  async #gone({ operations, volume }: CallContext): Promise<void | Pending> {
    const kept = [await operations.get('provision'), await operations.get('restore')];
    if (kept.every((text) => text === undefined)) return undefined;
    const now = this.#requests.client.clock.monotonic();
    const since = this.#missing.get(volume.uid) ?? now;
    if (now - since < unansweredMs) {
      this.#missing.set(volume.uid, since);
      return notYet(10_000);
    }
    this.#missing.delete(volume.uid);
    await operations.clear('provision');
    return operations.clear('restore');
  }

  /** Grows an attached or detached disk. Returns its size in bytes. */
  async grow(request: ExpandRequest): Promise<bigint | Pending> {
    const { api, client } = this.#requests;
    const caller = this.#requests.callerOf(request);
    const wanted = requireSize(request.sizeBytes, request.parameters['diskType'] ?? '');
    let seen: CloudDisk | undefined;
    const observe = async (): Promise<Observed<bigint>> => {
      seen = await this.require(request);
      return seen.sizeGib >= wanted ? done(bytesOf(seen.sizeGib)) : absent;
    };
    return carryOut(client.clock, request, 'expand', {
      observe,
      start: async (requestId) =>
        api.resizeDisk(caller, seen ?? (await this.require(request)), requestId, wanted),
      state: (id) => api.operationState(caller, id),
    });
  }
}
