import { DriverError, type OperationState } from '@kedge/driver-sdk';
import { stateAfter } from '@kedge/driver-sdk/provider';
import type { Fields } from '@kedge/driver-sdk/provider';
import { operationError } from './errors.js';
import {
  type DiskPath,
  operationPathOf,
  operationText,
  type Place,
  type SnapshotPath,
} from './names.js';
import {
  type CloudDisk,
  type CloudInstance,
  type CloudSnapshot,
  diskOf,
  instanceOf,
  snapshotOf,
} from './resources.js';
import type { Caller, Session } from './session.js';

const pagesMax = 500;
const perPage = 500;

/** All calls of Compute Engine that the driver makes. Each throws DriverError as {@link Session}. */
export class Cloud4Api {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  /** Returns a disk. @throws DriverError NotFound */
  async disk(caller: Caller, { project, zone, name }: DiskPath): Promise<CloudDisk> {
    const found = await this.#session.read(caller, 'getDisk', ({ disks }) =>
      disks.get({ project, zone, disk: name }),
    );
    return diskOf({ project, zone }, found);
  }

  /** Starts the creation of a disk, and returns the text of the operation. */
  async insertDisk(
    caller: Caller,
    { project, zone }: Place,
    requestId: string,
    diskResource: Readonly<Record<string, string>>,
  ): Promise<string> {
    return this.#started(project, zone, caller, 'insertDisk', (clients) =>
      clients.disks.insert({ project, zone, requestId, diskResource }),
    );
  }

  async deleteDisk(caller: Caller, disk: DiskPath, requestId: string): Promise<string> {
    const { project, zone, name } = disk;
    return this.#started(project, zone, caller, 'deleteDisk', ({ disks }) =>
      disks.delete({ project, zone, disk: name, requestId }),
    );
  }

  async resizeDisk(
    caller: Caller,
    { project, zone, name }: DiskPath,
    requestId: string,
    sizeGib: number,
  ): Promise<string> {
    const disksResizeRequestResource = { sizeGb: String(sizeGib) };
    return this.#started(project, zone, caller, 'resizeDisk', ({ disks }) =>
      disks.resize({ project, zone, disk: name, requestId, disksResizeRequestResource }),
    );
  }

  /**
   * Starts the attachment of a disk, and returns the text of the operation. The device has the name of the disk: its
   * link on the node is `google-<name>`.
   */
  async attachDisk(
    caller: Caller,
    { project, zone, name }: DiskPath,
    instance: string,
    requestId: string,
    mode: 'READ_ONLY' | 'READ_WRITE',
  ): Promise<string> {
    const source = `projects/${project}/zones/${zone}/disks/${name}`;
    const attachedDiskResource = { source, deviceName: name, mode, type: 'PERSISTENT' };
    return this.#started(project, zone, caller, 'attachDisk', ({ instances }) =>
      instances.attachDisk({ project, zone, instance, requestId, attachedDiskResource }),
    );
  }

  async detachDisk(
    caller: Caller,
    { project, zone }: Place,
    instance: string,
    deviceName: string,
    requestId: string,
  ): Promise<string> {
    return this.#started(project, zone, caller, 'detachDisk', ({ instances }) =>
      instances.detachDisk({ project, zone, instance, deviceName, requestId }),
    );
  }

  /** Returns an instance. @throws DriverError NotFound */
  async instance(caller: Caller, { project, zone }: Place, name: string): Promise<CloudInstance> {
    const found = await this.#session.read(caller, 'getInstance', ({ instances }) =>
      instances.get({ project, zone, instance: name }),
    );
    return instanceOf(found);
  }

  /** Returns a snapshot. @throws DriverError NotFound */
  async snapshot(caller: Caller, { project, name }: SnapshotPath): Promise<CloudSnapshot> {
    const found = await this.#session.read(caller, 'getSnapshot', ({ snapshots }) =>
      snapshots.get({ project, snapshot: name }),
    );
    return snapshotOf(project, found);
  }

  async insertSnapshot(
    caller: Caller,
    project: string,
    requestId: string,
    snapshotResource: Readonly<Record<string, string>>,
  ): Promise<string> {
    return this.#started(project, undefined, caller, 'insertSnapshot', ({ snapshots }) =>
      snapshots.insert({ project, requestId, snapshotResource }),
    );
  }

  async deleteSnapshot(
    caller: Caller,
    { project, name }: SnapshotPath,
    requestId: string,
  ): Promise<string> {
    return this.#started(project, undefined, caller, 'deleteSnapshot', ({ snapshots }) =>
      snapshots.delete({ project, snapshot: name, requestId }),
    );
  }

  async #started(
    project: string,
    zone: string | undefined,
    caller: Caller,
    name: string,
    call: Parameters<Session['start']>[2],
  ): Promise<string> {
    const operation = await this.#session.start(caller, name, call);
    return operationText({ project, zone, name: operation.text('name') });
  }

  /**
   * Returns the state of an operation.
   * @throws DriverError Timeout if the credential does not permit the call, because the outcome is unknown then
   */
  async operationState(caller: Caller, text: string): Promise<OperationState> {
    const path = operationPathOf(text);
    if (!path) return { type: 'unknown' };
    const { project, zone, name } = path;
    let operation: Fields;
    try {
      operation =
        zone === undefined
          ? await this.#session.read(caller, 'getGlobalOperation', (clients) =>
              clients.globalOperations.get({ project, operation: name }),
            )
          : await this.#session.read(caller, 'getZoneOperation', (clients) =>
              clients.zoneOperations.get({ project, zone, operation: name }),
            );
    } catch (thrown) {
      return stateAfter(thrown, `operation ${name}`, text);
    }
    if (operation.text('status') !== 'DONE') return { type: 'running' };
    const errors = operation.optional('error')?.list('errors') ?? [];
    const [first] = errors;
    if (!first) return { type: 'ended' };
    const refusal = {
      status: operation.has('httpErrorStatusCode') ? operation.number('httpErrorStatusCode') : 0,
      code: first.optionalText('code') ?? '',
      message: first.optionalText('message') ?? '',
    };
    return { type: 'failed', error: operationError(refusal, name) };
  }

  async #all<T>(
    list: (page: Readonly<Record<string, unknown>>) => Promise<Fields>,
    read: (fields: Fields) => T,
  ): Promise<readonly T[]> {
    const found: T[] = [];
    let pageToken: string | undefined;
    for (let page = 0; page < pagesMax; page += 1) {
      const more = pageToken === undefined ? {} : { pageToken };
      const body = await list({ maxResults: perPage, ...more });
      if (body.has('items')) found.push(...body.list('items').map(read));
      pageToken = body.optionalText('nextPageToken');
      if (pageToken === undefined || pageToken === '') return found;
    }
    throw new DriverError(
      'Internal',
      `a list of Google Cloud has more than ${pagesMax} pages; delete unused disks and snapshots`,
    );
  }

  /** Returns the disks of a zone. */
  disks(caller: Caller, place: Place): Promise<readonly CloudDisk[]> {
    const options = { autoPaginate: false } as const;
    return this.#all(
      (page) =>
        this.#session.page(caller, 'listDisks', ({ disks }) =>
          disks.list({ project: place.project, zone: place.zone, ...page }, options),
        ),
      (fields) => diskOf(place, fields),
    );
  }

  /** Returns the snapshots of a project. */
  snapshots(caller: Caller, project: string): Promise<readonly CloudSnapshot[]> {
    const options = { autoPaginate: false } as const;
    return this.#all(
      (page) =>
        this.#session.page(caller, 'listSnapshots', ({ snapshots }) =>
          snapshots.list({ project, ...page }, options),
        ),
      (fields) => snapshotOf(project, fields),
    );
  }

  /** Returns those of some permissions that the credential has on a disk. */
  async diskPermissions(
    caller: Caller,
    { project, zone, name }: DiskPath,
    permissions: readonly string[],
  ): Promise<readonly string[]> {
    const testPermissionsRequestResource = { permissions };
    const answer = await this.#session.read(caller, 'testDiskPermissions', ({ disks }) =>
      disks.testIamPermissions({ project, zone, resource: name, testPermissionsRequestResource }),
    );
    return answer.texts('permissions');
  }

  /** Returns those of some permissions that the credential has on an instance. */
  async instancePermissions(
    caller: Caller,
    { project, zone }: Place,
    instance: string,
    permissions: readonly string[],
  ): Promise<readonly string[]> {
    const body = { permissions };
    const answer = await this.#session.read(caller, 'testInstancePermissions', ({ instances }) =>
      instances.testIamPermissions({
        project,
        zone,
        resource: instance,
        testPermissionsRequestResource: body,
      }),
    );
    return answer.texts('permissions');
  }
}
