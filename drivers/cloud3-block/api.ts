import { DriverError } from '@kedge/driver-sdk';
import type { Fields } from '@kedge/driver-sdk/provider';
import type { Ec2Client } from './client.js';
import type { Ec2Caller } from './parameters.js';
import type { Action } from './sdk.js';

/** The attachment of a volume to an instance. */
export interface CloudAttachment {
  readonly instance: string;
  readonly device: string;
  /** attaching, attached, busy, detaching or detached. */
  readonly state: string;
}

/** A volume at the provider. */
export interface CloudVolume {
  readonly id: string;
  readonly sizeGib: number;
  readonly zone: string;
  /** creating, available, in-use, deleting, deleted or error. */
  readonly state: string;
  readonly attachments: readonly CloudAttachment[];
  readonly tags: Readonly<Record<string, string>>;
}

/** A snapshot at the provider. */
export interface CloudSnapshot {
  readonly id: string;
  /** pending, completed, error, recoverable or recovering. */
  readonly state: string;
  /** The provider's words on the state. */
  readonly words: string;
  /** Size of the source volume, GiB. */
  readonly sizeGib: number;
  readonly startedAt: number;
  readonly tags: Readonly<Record<string, string>>;
}

/** An instance at the provider. */
export interface CloudInstance {
  readonly id: string;
  readonly zone: string;
  /** The names of its devices that are in use. */
  readonly devices: readonly string[];
}

/** A filter: the name of a property and its permitted values. */
export interface Filter {
  readonly Name: string;
  readonly Values: readonly string[];
}

const pagesMax = 200;

/** The calls of EC2 that read lists, and those with a result. Each throws DriverError. */
export class Cloud3Api {
  readonly client: Ec2Client;

  constructor(client: Ec2Client) {
    this.client = client;
  }

  async #all<T>(
    caller: Ec2Caller,
    action: Action,
    input: Readonly<Record<string, unknown>>,
    read: (page: Fields) => readonly T[],
    about?: readonly string[],
  ): Promise<readonly T[]> {
    const found: T[] = [];
    let token: string | undefined;
    for (let page = 1; page <= pagesMax; page += 1) {
      const whole = token === undefined ? input : { ...input, NextToken: token };
      const answer = await this.client.call(caller, action, whole, about);
      found.push(...read(answer));
      token = answer.optionalText('NextToken');
      if (token === undefined || token === '') return found;
    }
    throw new DriverError(
      'Internal',
      `${action} has more than ${pagesMax} pages, and no more are read; use the credential of an account with fewer resources`,
    );
  }

  /** The volumes that match filters. @param about uids of the volumes, for the journal */
  volumes(
    caller: Ec2Caller,
    filters: readonly Filter[],
    about?: readonly string[],
  ): Promise<readonly CloudVolume[]> {
    const input = filters.length === 0 ? {} : { Filters: filters };
    const read = (page: Fields): readonly CloudVolume[] => page.list('Volumes').map(volume);
    return this.#all(caller, 'DescribeVolumes', input, read, about);
  }

  /** The volume with an id. @throws DriverError NotFound */
  async volume(caller: Ec2Caller, id: string): Promise<CloudVolume> {
    const answer = await this.client.call(caller, 'DescribeVolumes', { VolumeIds: [id] });
    const [found] = answer.list('Volumes').map(volume);
    if (found) return found;
    throw new DriverError('NotFound', `Amazon EBS has no volume ${id}`);
  }

  /** Creates a volume and returns it. */
  async createVolume(
    caller: Ec2Caller,
    input: Readonly<Record<string, unknown>>,
  ): Promise<CloudVolume> {
    return volume(await this.client.call(caller, 'CreateVolume', input));
  }

  /** Makes a call and ignores its answer. */
  async make(
    caller: Ec2Caller,
    action: Action,
    input: Readonly<Record<string, unknown>>,
  ): Promise<void> {
    await this.client.call(caller, action, input);
  }

  /** The snapshots of the account that match filters. */
  snapshots(caller: Ec2Caller, filters: readonly Filter[]): Promise<readonly CloudSnapshot[]> {
    const input = { OwnerIds: ['self'], ...(filters.length === 0 ? {} : { Filters: filters }) };
    const read = (page: Fields): readonly CloudSnapshot[] => page.list('Snapshots').map(snapshot);
    return this.#all(caller, 'DescribeSnapshots', input, read);
  }

  /** The snapshot with an id; undefined if it does not exist. */
  async snapshot(caller: Ec2Caller, id: string): Promise<CloudSnapshot | undefined> {
    const input = { SnapshotIds: [id] };
    try {
      const answer = await this.client.call(caller, 'DescribeSnapshots', input);
      return answer.list('Snapshots').map(snapshot)[0];
    } catch (thrown) {
      if (DriverError.from(thrown).kind === 'NotFound') return undefined;
      throw thrown;
    }
  }

  async createSnapshot(
    caller: Ec2Caller,
    input: Readonly<Record<string, unknown>>,
  ): Promise<CloudSnapshot> {
    return snapshot(await this.client.call(caller, 'CreateSnapshot', input));
  }

  /** The instances that match an input of DescribeInstances; those that don't exist any more are left out. */
  instances(
    caller: Ec2Caller,
    input: Readonly<Record<string, unknown>>,
  ): Promise<readonly CloudInstance[]> {
    const read = (page: Fields): readonly CloudInstance[] =>
      page
        .list('Reservations')
        .flatMap((reservation) => reservation.list('Instances'))
        .filter((one) => !ended.includes(one.optional('State')?.optionalText('Name') ?? ''))
        .map(instance);
    return this.#all(caller, 'DescribeInstances', input, read);
  }

  /** The state of the last modification of a volume; undefined if it was never modified. */
  async modification(
    caller: Ec2Caller,
    id: string,
  ): Promise<
    { readonly state: string; readonly sizeGib: number; readonly words: string } | undefined
  > {
    const filters: readonly Filter[] = [{ Name: 'volume-id', Values: [id] }];
    const answer = await this.client.call(caller, 'DescribeVolumesModifications', {
      Filters: filters,
    });
    const [last] = answer.list('VolumesModifications').map((one) => ({
      state: one.text('ModificationState'),
      sizeGib: one.number('TargetSize'),
      words: one.optionalText('StatusMessage') ?? '',
    }));
    return last;
  }
}

const ended: readonly string[] = ['terminated', 'shutting-down'];

function entries(fields: Fields, key: string): readonly Fields[] {
  return fields.has(key) ? fields.list(key) : [];
}

function tagsOf(fields: Fields): Readonly<Record<string, string>> {
  return Object.fromEntries(
    entries(fields, 'Tags').map((tag) => [tag.text('Key'), tag.optionalText('Value') ?? '']),
  );
}

function volume(fields: Fields): CloudVolume {
  return {
    id: fields.text('VolumeId'),
    sizeGib: fields.number('Size'),
    zone: fields.text('AvailabilityZone'),
    state: fields.text('State'),
    attachments: entries(fields, 'Attachments').map((one) => ({
      instance: one.optionalText('InstanceId') ?? '',
      device: one.optionalText('Device') ?? '',
      state: one.text('State'),
    })),
    tags: tagsOf(fields),
  };
}

function snapshot(fields: Fields): CloudSnapshot {
  return {
    id: fields.text('SnapshotId'),
    state: fields.text('State'),
    words: fields.optionalText('StateMessage') ?? '',
    sizeGib: fields.number('VolumeSize'),
    startedAt: fields.time('StartTime'),
    tags: tagsOf(fields),
  };
}

function instance(fields: Fields): CloudInstance {
  return {
    id: fields.text('InstanceId'),
    zone: fields.optional('Placement')?.optionalText('AvailabilityZone') ?? '',
    devices: entries(fields, 'BlockDeviceMappings').map(
      (one) => one.optionalText('DeviceName') ?? '',
    ),
  };
}
