import type { Rule } from './row.js';

/** The names of the filters of a call, as its documentation in the definition lists them; and every tag. */
function filters(names: string): Rule {
  const escaped = names.trim().split(/\s+/).join('|').replaceAll('.', '\\.');
  return { type: 'text', pattern: new RegExp(`^(?:${escaped}|tag:.+)$`) };
}

/** The filters of the calls of cloud3 that list. Those of instances are the ones about the instance itself. */
export const cloud3Filters = {
  DescribeVolumes: filters(`
    attachment.attach-time attachment.delete-on-termination attachment.device attachment.instance-id
    attachment.status availability-zone availability-zone-id create-time encrypted fast-restored multi-attach-
    enabled operator.managed operator.principal size snapshot-id status tag-key volume-id volume-type
  `),
  DescribeVolumesModifications: filters(`
    modification-state original-iops original-size original-volume-type originalMultiAttachEnabled start-time
    target-iops target-size target-volume-type targetMultiAttachEnabled volume-id
  `),
  DescribeSnapshots: filters(`
    description encrypted owner-alias owner-id progress snapshot-id start-time status storage-tier transfer-type
    tag-key volume-id volume-size
  `),
  DescribeInstances: filters(`
    affinity architecture availability-zone availability-zone-id block-device-mapping.attach-time block-device-
    mapping.delete-on-termination block-device-mapping.device-name block-device-mapping.status block-device-
    mapping.volume-id boot-mode client-token current-instance-boot-mode dns-name ebs-optimized ena-support
    enclave-options.enabled hibernation-options.configured host-id hypervisor iam-instance-profile.arn iam-
    instance-profile.id image-id instance-id instance-lifecycle instance-state-code instance-state-name instance-
    type instance.group-id instance.group-name ip-address ipv6-address kernel-id key-name launch-index launch-time
    maintenance-options.auto-recovery monitoring-state network-performance-options.bandwidth-weighting
    operator.managed operator.principal outpost-arn owner-id placement-group-name placement-partition-number
    platform platform-details private-dns-name private-ip-address product-code product-code.type ramdisk-id reason
    requester-id reservation-id root-device-name root-device-type source-dest-check spot-instance-request-id
    state-reason-code state-reason-message subnet-id tag-key tenancy tpm-support usage-operation usage-operation-
    update-time virtualization-type vpc-id
  `),
  DescribeTags: filters(`
    key resource-id resource-type value
  `),
  DescribeAvailabilityZones: filters(`
    group-long-name group-name message opt-in-status parent-zone-id parent-zone-name region-name state zone-id
    zone-name zone-type
  `),
  DescribeInstanceTypes: filters(`
    current-generation ebs-info.attachment-limit-type ebs-info.maximum-ebs-attachments ebs-info.ebs-optimized-
    info.baseline-bandwidth-in-mbps ebs-info.ebs-optimized-info.baseline-iops ebs-info.ebs-optimized-
    info.baseline-throughput-in-mbps ebs-info.ebs-optimized-info.maximum-bandwidth-in-mbps ebs-info.ebs-optimized-
    info.maximum-iops ebs-info.ebs-optimized-info.maximum-throughput-in-mbps ebs-info.ebs-optimized-support ebs-
    info.encryption-support ebs-info.nvme-support hypervisor instance-type
  `),
  DescribeVolumeStatus: filters(`
    action.code action.description action.event-id availability-zone event.description event.event-id event.event-
    type event.not-after event.not-before volume-status.details-name volume-status.details-status volume-
    status.status
  `),
} as const satisfies Readonly<Record<string, Rule>>;
