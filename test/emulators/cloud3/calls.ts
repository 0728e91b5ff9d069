import type { Reply } from '../core/wire.js';
import { attachVolume, detachVolume } from './attachments.js';
import type { Call } from './call.js';
import {
  describeInstances,
  describeInstanceTypes,
  describeModifications,
  describeSnapshots,
  describeTags,
  describeVolumes,
  describeZones,
} from './describe.js';
import type { Form } from './form.js';
import { modifyVolume } from './modifications.js';
import type { Tags } from './records.js';
import { Refusal } from './refusals.js';
import { attachmentForm, modificationForm, snapshotForm, volumeForm } from './render.js';
import { limits } from './rules.js';
import { createSnapshot, deleteSnapshot } from './snapshots.js';
import { createVolume, deleteVolume } from './volumes.js';
import { xmlReply } from './xml.js';

/** An action of the provider's API. */
export interface ApiAction {
  /** The names of its parameters; `N` stands for a number from 1. */
  readonly parameters: readonly string[];
  readonly required?: readonly string[];
  /** The parameter with ids of resources. */
  readonly ids?: string;
  readonly answer: (call: Call) => Reply;
  /** Whether it starts an action with an end of its own. */
  readonly acts?: true;
  /** Whether it changes nothing. */
  readonly reads?: true;
  /** Other permissions that a request needs. */
  readonly needs?: (form: Form) => readonly string[];
}

/** @throws Refusal for tags that the provider does not accept */
function requireTags(all: readonly Form[]): Tags {
  const tags = Object.fromEntries(
    all.map((one) => [one.requiredText('Key'), one.text('Value') ?? '']),
  );
  for (const [key, value] of Object.entries(tags)) {
    if (key.startsWith('aws:'))
      throw new Refusal('badValue', key, 'Tag', 'Tag keys starting with aws: are reserved.');
    if (key.length > limits.tagKeyMax || value.length > limits.tagValueMax)
      throw new Refusal('badValue', key, 'Tag', 'It is too long.');
  }
  if (Object.keys(tags).length > limits.tagsMax)
    throw new Refusal('badValue', all.length, 'Tag', 'There are too many tags.');
  return tags;
}

function tagsFor(kind: string, form: Form): Tags {
  const all = form.groups('TagSpecification');
  for (const one of all)
    if (one.text('ResourceType') !== kind)
      throw new Refusal(
        'badValue',
        one.text('ResourceType') ?? '',
        'resourceType',
        `Expected ${kind}.`,
      );
  return requireTags(all.flatMap((one) => one.groups('Tag')));
}

function given<T, Name extends string>(
  name: Name,
  value: T | undefined,
): { readonly [key in Name]?: T } {
  return (value === undefined ? {} : { [name]: value }) as { readonly [key in Name]?: T };
}

function create(call: Call): Reply {
  const { form, state, action } = call;
  if (form.truth('MultiAttachEnabled'))
    throw new Refusal('badCombination', 'The emulator has no volumes for several instances.');
  const volume = createVolume(
    state,
    {
      zone: form.requiredText('AvailabilityZone'),
      ...given('sizeGib', form.whole('Size')),
      ...given('type', form.text('VolumeType')),
      ...given('iops', form.whole('Iops')),
      ...given('throughput', form.whole('Throughput')),
      encrypted: form.truth('Encrypted') ?? false,
      ...given('kmsKey', form.text('KmsKeyId')),
      ...given('snapshot', form.text('SnapshotId')),
      tags: tagsFor('volume', form),
      ...given('token', form.text('ClientToken')),
    },
    call,
  );
  return xmlReply(200, action, volumeForm(volume));
}

function modify(call: Call): Reply {
  const { form, state, action } = call;
  const wanted = {
    ...given('sizeGib', form.whole('Size')),
    ...given('type', form.text('VolumeType')),
    ...given('iops', form.whole('Iops')),
    ...given('throughput', form.whole('Throughput')),
  };
  const one = modifyVolume(state, form.requiredText('VolumeId'), wanted, call);
  return xmlReply(200, action, { volumeModification: modificationForm(one) });
}

function attach(call: Call): Reply {
  const { form, state, action } = call;
  const order = {
    volume: form.requiredText('VolumeId'),
    instance: form.requiredText('InstanceId'),
    device: form.requiredText('Device'),
  };
  const { id, attachment } = attachVolume(state, order, call);
  return xmlReply(200, action, attachment ? attachmentForm(id, attachment) : {});
}

function detach(call: Call): Reply {
  const { form, state, action } = call;
  const order = {
    volume: form.requiredText('VolumeId'),
    ...given('instance', form.text('InstanceId')),
    ...given('device', form.text('Device')),
    force: form.truth('Force') ?? false,
  };
  const { id, attachment } = detachVolume(state, order, call);
  return xmlReply(200, action, attachment ? attachmentForm(id, attachment) : {});
}

function createTags(call: Call): Reply {
  const { form, state, ids, region, action } = call;
  const tags = requireTags(form.groups('Tag'));
  for (const id of ids) {
    if (id.startsWith('snap-')) {
      const snapshot = state.requireSnapshot(id, region);
      state.snapshots.set(id, { ...snapshot, tags: { ...snapshot.tags, ...tags } });
    } else {
      const volume = state.requireVolume(id, region);
      state.put({ ...volume, tags: { ...volume.tags, ...tags } });
    }
  }
  return xmlReply(200, action, { return: true });
}

const filters = ['Filter.N.Name', 'Filter.N.Value.N'];
const pages = ['MaxResults', 'NextToken'];
const tagged = [
  'TagSpecification.N.ResourceType',
  'TagSpecification.N.Tag.N.Key',
  'TagSpecification.N.Tag.N.Value',
];
const createsTags = (form: Form): readonly string[] =>
  form.groups('TagSpecification').length > 0 ? ['CreateTags'] : [];

/** The provider's actions for block storage. Every one has the parameters Action, Version and DryRun too. */
export const apiActions: Readonly<Record<string, ApiAction>> = {
  CreateVolume: {
    parameters: [
      ...['AvailabilityZone', 'Encrypted', 'Iops', 'KmsKeyId', 'Size', 'SnapshotId', 'VolumeType'],
      ...['MultiAttachEnabled', 'Throughput', 'ClientToken', ...tagged],
    ],
    required: ['AvailabilityZone'],
    answer: create,
    acts: true,
    needs: createsTags,
  },
  DeleteVolume: {
    parameters: ['VolumeId'],
    required: ['VolumeId'],
    answer: (call) => {
      deleteVolume(call.state, call.form.requiredText('VolumeId'), call);
      return xmlReply(200, call.action, { return: true });
    },
    acts: true,
  },
  DescribeVolumes: {
    parameters: ['VolumeId.N', 'IncludeManagedResources', ...filters, ...pages],
    ...{ ids: 'VolumeId', answer: describeVolumes, reads: true },
  },
  AttachVolume: {
    parameters: ['Device', 'InstanceId', 'VolumeId', 'EbsCardIndex'],
    ...{ required: ['VolumeId', 'InstanceId', 'Device'], answer: attach, acts: true },
  },
  DetachVolume: {
    parameters: ['Device', 'Force', 'InstanceId', 'VolumeId'],
    ...{ required: ['VolumeId'], answer: detach, acts: true },
  },
  ModifyVolume: {
    parameters: ['VolumeId', 'Size', 'VolumeType', 'Iops', 'Throughput', 'MultiAttachEnabled'],
    ...{ required: ['VolumeId'], answer: modify, acts: true },
  },
  DescribeVolumesModifications: {
    parameters: ['VolumeId.N', 'IncludeManagedResources', ...filters, ...pages],
    ...{ ids: 'VolumeId', answer: describeModifications, reads: true },
  },
  CreateSnapshot: {
    parameters: ['Description', 'VolumeId', ...tagged],
    required: ['VolumeId'],
    answer: (call) => {
      const { form, state } = call;
      const description = form.text('Description') ?? '';
      const volume = form.requiredText('VolumeId');
      const order = { volume, description, tags: tagsFor('snapshot', form) };
      return xmlReply(200, call.action, snapshotForm(createSnapshot(state, order, call)));
    },
    acts: true,
    needs: createsTags,
  },
  DeleteSnapshot: {
    parameters: ['SnapshotId'],
    required: ['SnapshotId'],
    answer: (call) => {
      deleteSnapshot(call.state, call.form.requiredText('SnapshotId'), call);
      return xmlReply(200, call.action, { return: true });
    },
  },
  DescribeSnapshots: {
    parameters: ['Owner.N', 'RestorableBy.N', 'SnapshotId.N', ...filters, ...pages],
    ...{ ids: 'SnapshotId', answer: describeSnapshots, reads: true },
  },
  DescribeInstances: {
    parameters: ['InstanceId.N', 'IncludeManagedResources', ...filters, ...pages],
    ...{ ids: 'InstanceId', answer: describeInstances, reads: true },
  },
  CreateTags: {
    parameters: ['ResourceId.N', 'Tag.N.Key', 'Tag.N.Value'],
    ...{ ids: 'ResourceId', required: ['ResourceId.1', 'Tag.1.Key'], answer: createTags },
  },
  DescribeTags: {
    ...{ parameters: [...filters, ...pages], answer: describeTags, reads: true },
  },
  DescribeAvailabilityZones: {
    parameters: ['ZoneName.N', 'AllAvailabilityZones', ...filters],
    ...{ answer: describeZones, reads: true },
  },
  DescribeInstanceTypes: {
    parameters: ['InstanceType.N', ...filters, ...pages],
    ...{ ids: 'InstanceType', answer: describeInstanceTypes, reads: true },
  },
};
