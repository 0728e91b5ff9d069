import { parameterToSet } from '@kedge/driver-sdk/messages';
import type { ErrorRow } from '@kedge/driver-sdk/provider';

/**
 * Maximum number of volumes that Kedge attaches to one instance. Instances on Nitro have 28 places, which they share with
 * network interfaces and the root volume.
 */
export const attachLimit = 27;

const list = 'docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html';
const throttling = 'docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html';

const error = (status: number, code: string, message: string): ErrorRow['example'] => ({
  status,
  code,
  message,
});

const permission =
  'add the action to the policy of the credential: the call is repeated with the new policy';
const key = 'renew accessKeyId and secretAccessKey: the call is repeated with the new ones';

/** The refusals of EC2 by code; the first matching row decides. EC2 uses status 400 for most of them. */
export const cloud3Errors: readonly ErrorRow[] = [
  {
    code: ['RequestLimitExceeded', 'Throttling', 'ThrottlingException', 'EC2ThrottledException'],
    kind: 'Throttled',
    rateLimit: true,
    // The provider's budget is refilled each second.
    retryAfterMs: 5_000,
    source: throttling,
    example: error(503, 'RequestLimitExceeded', 'Request limit exceeded.'),
  },
  {
    code: ['SnapshotCreationPerVolumeRateExceeded'],
    kind: 'Throttled',
    // "wait at least 15 seconds between concurrent volume snapshots"
    retryAfterMs: 15_000,
    source: list,
    example: error(
      400,
      'SnapshotCreationPerVolumeRateExceeded',
      'The maximum per volume CreateSnapshot request rate has been exceeded.',
    ),
  },
  {
    code: ['VolumeModificationRateExceeded'],
    kind: 'QuotaExceeded',
    limit: 4,
    remedy:
      'a volume is modified at most four times in 24 hours, each time after the last modification has completed: the growth is repeated until the provider permits it',
    source: 'docs.aws.amazon.com/AWSEC2/latest/APIReference/API_ModifyVolume.html',
    example: error(
      400,
      'VolumeModificationRateExceeded',
      "You've reached the maximum modification rate per volume limit.",
    ),
  },
  {
    code: ['IncorrectModificationState'],
    kind: 'Throttled',
    retryAfterMs: 30_000,
    source: list,
    example: error(
      400,
      'IncorrectModificationState',
      'Cannot modify volume vol-1 in modification state OPTIMIZING',
    ),
  },
  {
    code: ['AttachmentLimitExceeded'],
    kind: 'QuotaExceeded',
    limit: attachLimit,
    retryElsewhere: true,
    remedy: 'the instance has no place for another volume: move workloads to another node',
    source: 'kubernetes-sigs/aws-ebs-csi-driver pkg/cloud/cloud.go',
    example: error(400, 'AttachmentLimitExceeded', 'Volume attachment limit exceeded.'),
  },
  {
    code: [
      'VolumeLimitExceeded',
      'SnapshotLimitExceeded',
      'MaxIOPSLimitExceeded',
      'ConcurrentSnapshotLimitExceeded',
      'PendingSnapshotLimitExceeded',
      'ResourceCountExceeded',
      'ResourceLimitExceeded',
    ],
    kind: 'QuotaExceeded',
    remedy: 'request a higher quota of the AWS account in this region, or delete what is unused',
    source: list,
    example: error(400, 'VolumeLimitExceeded', 'Maximum number of volumes exceeded.'),
  },
  {
    code: ['InsufficientVolumeCapacity', 'InsufficientCapacity', 'InsufficientAddressCapacity'],
    kind: 'QuotaExceeded',
    retryElsewhere: true,
    remedy: 'the zone has no capacity: use another zone, or wait',
    source: list,
    example: error(
      500,
      'InsufficientVolumeCapacity',
      'There is not enough capacity to fulfill your EBS volume provision request.',
    ),
  },
  {
    code: ['UnauthorizedOperation', 'AccessDenied', 'AccessDeniedException'],
    kind: 'PermissionDenied',
    remedy: permission,
    source: list,
    example: error(
      403,
      'UnauthorizedOperation',
      'You are not authorized to perform this operation.',
    ),
  },
  {
    code: [
      'AuthFailure',
      'InvalidClientTokenId',
      'SignatureDoesNotMatch',
      'UnrecognizedClientException',
      'MissingAuthenticationToken',
      'IncompleteSignature',
      'ExpiredToken',
      'ExpiredTokenException',
      'InvalidSecurityToken',
      'Blocked',
      'PendingVerification',
      'OptInRequired',
    ],
    kind: 'CredentialsRejected',
    remedy: key,
    source: list,
    example: error(
      401,
      'AuthFailure',
      'AWS was not able to validate the provided access credentials',
    ),
  },
  {
    code: ['RequestExpired', 'RequestTimeTooSkewed'],
    kind: 'CredentialsRejected',
    remedy: 'compare the clock of this machine with the time: the provider permits 15 minutes',
    source: list,
    example: error(400, 'RequestExpired', 'Request has expired.'),
  },
  {
    code: ['InvalidVolume.ZoneMismatch'],
    kind: 'InvalidParameters',
    remedy:
      'a volume attaches only to instances of its zone: use a storage class of the zone of the node, or allowedTopologies',
    source: list,
    example: error(
      400,
      'InvalidVolume.ZoneMismatch',
      "The volume 'vol-1' is not in the same availability zone as instance 'i-1'",
    ),
  },
  {
    code: [
      'InvalidVolume.NotFound',
      'InvalidVolumeID.Malformed',
      'InvalidSnapshot.NotFound',
      'InvalidSnapshotID.Malformed',
      'InvalidInstanceID.NotFound',
      'InvalidInstanceID.Malformed',
      'InvalidInstanceID',
      'InvalidAttachment.NotFound',
      'InvalidParameterValue.NotFound',
    ],
    kind: 'NotFound',
    source: list,
    example: error(400, 'InvalidVolume.NotFound', "The volume 'vol-1' does not exist."),
  },
  {
    code: ['IdempotentParameterMismatch'],
    kind: 'AlreadyExists',
    source: list,
    example: error(
      400,
      'IdempotentParameterMismatch',
      'The client token you have provided is associated with other parameters.',
    ),
  },
  {
    // The official driver recognizes a device name that is in use by the same words.
    code: ['InvalidParameterValue'],
    message: /already in use|is in use/i,
    kind: 'InUse',
    source: 'kubernetes-sigs/aws-ebs-csi-driver pkg/cloud/cloud.go',
    example: error(
      400,
      'InvalidParameterValue',
      'Invalid value for unixDevice. Attachment point /dev/xvdaa is already in use',
    ),
  },
  {
    // The refusal concerns the instance: as InUse, an attachment would wait without an error.
    code: ['IncorrectState', 'IncorrectInstanceState'],
    message: /^Instance .* is not 'running'/,
    kind: 'Unavailable',
    remedy: 'start the instance: the attachment is repeated until it runs',
    source: list,
    example: error(400, 'IncorrectState', "Instance 'i-1' is not 'running'."),
  },
  {
    code: ['VolumeInUse', 'IncorrectState', 'IncorrectInstanceState', 'InvalidSnapshot.InUse'],
    kind: 'InUse',
    source: list,
    example: error(400, 'VolumeInUse', 'Volume vol-1 is currently attached to i-1'),
  },
  {
    code: ['OperationNotPermitted'],
    message: /modif|state/i,
    kind: 'InUse',
    source: list,
    example: error(400, 'OperationNotPermitted', 'The volume is being modified.'),
  },
  {
    code: ['UnsupportedOperationException', 'UnsupportedOperation', 'OperationNotPermitted'],
    kind: 'Unsupported',
    source: list,
    example: error(
      400,
      'UnsupportedOperationException',
      'Cannot attach to a managed volume or instance.',
    ),
  },
  {
    // A limit of a proxy before the provider: the request was not executed.
    status: [429],
    code: [''],
    kind: 'Throttled',
    source: 'RFC 6585, section 4',
    example: error(429, '', ''),
  },
  {
    // The provider always sends a code: this is the answer of a proxy, or a part of one.
    code: [''],
    kind: 'Unavailable',
    source: 'docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html, error response',
    example: error(400, '', ''),
  },
  {
    status: [500, 502, 503, 504],
    kind: 'Unavailable',
    source: list,
    example: error(500, 'InternalError', 'An internal error has occurred.'),
  },
  {
    code: ['InvalidZone.NotFound'],
    kind: 'InvalidParameters',
    remedy: `${parameterToSet.format({ key: 'availabilityZone' })}a zone of the region that the account can use`,
    source: list,
    example: error(400, 'InvalidZone.NotFound', "The zone 'eu-central-1x' does not exist."),
  },
  {
    status: [400],
    kind: 'InvalidParameters',
    source: list,
    example: error(400, 'InvalidParameterValue', 'The volume size is invalid.'),
  },
];
