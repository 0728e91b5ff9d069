import { attachmentsMax } from './attachments.js';
import { owner, stateCodes } from './filters.js';
import type { Attachment, Modification, Server, Snapshot, Tags, Volume } from './records.js';
import { instanceKinds, type InstanceKind, regionOf } from './rules.js';
import type { XmlValue } from './xml.js';

type Fields = { readonly [name: string]: XmlValue };

const time = (ms: number): string => new Date(ms).toISOString();

function tagSet(tags: Tags): readonly XmlValue[] | undefined {
  const all = Object.entries(tags).map(([key, value]) => ({ key, value }));
  return all.length === 0 ? undefined : all;
}

export function attachmentForm(volume: string, attachment: Attachment, root = false): Fields {
  return {
    volumeId: volume,
    instanceId: attachment.instance,
    device: attachment.device,
    status: attachment.state,
    attachTime: time(attachment.at),
    deleteOnTermination: root,
  };
}

/** A volume. `tagSet` is absent if it has no tags. */
export function volumeForm(volume: Volume): Fields {
  const { id, attachment, root, tags } = volume;
  return {
    volumeId: id,
    size: volume.sizeGib,
    snapshotId: volume.snapshot ?? '',
    availabilityZone: volume.zone,
    status: attachment ? 'in-use' : volume.state,
    createTime: time(volume.createdAt),
    attachmentSet: attachment ? [attachmentForm(id, attachment, root)] : [],
    tagSet: tagSet(tags),
    volumeType: volume.type,
    iops: volume.iops,
    throughput: volume.throughput,
    encrypted: volume.encrypted,
    kmsKeyId: volume.kmsKey,
    multiAttachEnabled: false,
  };
}

export function modificationForm(one: Modification): Fields {
  const { from, to } = one;
  const progress = { modifying: 0, optimizing: 50, completed: 100, failed: 0 } as const;
  return {
    volumeId: one.volume,
    modificationState: one.state,
    targetSize: to.sizeGib,
    targetIops: to.iops,
    targetVolumeType: to.type,
    targetThroughput: to.throughput,
    targetMultiAttachEnabled: false,
    originalSize: from.sizeGib,
    originalIops: from.iops,
    originalVolumeType: from.type,
    originalThroughput: from.throughput,
    originalMultiAttachEnabled: false,
    progress: progress[one.state],
    startTime: time(one.startedAt),
    endTime: one.endedAt === undefined ? undefined : time(one.endedAt),
  };
}

export function snapshotForm(snapshot: Snapshot): Fields {
  return {
    snapshotId: snapshot.id,
    volumeId: snapshot.volume,
    status: snapshot.state,
    startTime: time(snapshot.startedAt),
    progress: snapshot.state === 'completed' ? '100%' : '',
    ownerId: owner,
    volumeSize: snapshot.sizeGib,
    description: snapshot.description,
    encrypted: snapshot.encrypted,
    storageTier: 'standard',
    tagSet: tagSet(snapshot.tags),
  };
}

/** An instance in a reservation of its own. */
export function reservationForm(server: Server, volumes: readonly Volume[]): Fields {
  const running = server.state === 'running';
  const mappings = volumes.flatMap(({ id, attachment, root }) => {
    if (!attachment) return [];
    // A mapping has no state "busy".
    const status = attachment.state === 'busy' ? 'detaching' : attachment.state;
    const ebs = {
      volumeId: id,
      status,
      attachTime: time(attachment.at),
      deleteOnTermination: root ?? false,
    };
    return [{ deviceName: attachment.device, ebs }];
  });
  const instance = {
    instanceId: server.id,
    imageId: 'ami-0a1b2c3d4e5f60718',
    instanceState: { code: stateCodes[server.state], name: server.state },
    privateDnsName: running ? server.privateDns : '',
    dnsName: '',
    instanceType: server.kind,
    launchTime: time(server.launchedAt),
    placement: { availabilityZone: server.place, groupName: '', tenancy: 'default' },
    privateIpAddress: running ? server.address : undefined,
    rootDeviceType: 'ebs',
    rootDeviceName: '/dev/xvda',
    blockDeviceMapping: mappings,
    tagSet: tagSet(server.tags),
  };
  const reservationId = server.id.replace(/^i-/, 'r-');
  return { reservationId, ownerId: owner, groupSet: [], instancesSet: [instance] };
}

export function zoneForm(zone: string): Fields {
  const region = regionOf(zone);
  return {
    ...{ zoneName: zone, zoneState: 'available', regionName: region, messageSet: [] },
    ...{ zoneType: 'availability-zone', groupName: region, networkBorderGroup: region },
    optInStatus: 'opt-in-not-required',
  };
}

export function instanceTypeForm(name: string): Fields {
  const kind: InstanceKind | undefined = instanceKinds[name as keyof typeof instanceKinds];
  return {
    instanceType: name,
    hypervisor: kind?.hypervisor,
    ebsInfo: {
      ...{ ebsOptimizedSupport: 'default', encryptionSupport: 'supported' },
      nvmeSupport: kind?.hypervisor === 'nitro' ? 'required' : 'unsupported',
      maximumEbsAttachments: kind?.attachmentsMax ?? attachmentsMax(name),
      attachmentLimitType: kind?.limit,
    },
    networkInfo: { maximumNetworkInterfaces: 3 },
  };
}
