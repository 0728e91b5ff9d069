import type { Reply } from '../core/wire.js';
import { xmlReply } from './xml.js';

/** A refusal of the provider: its status, its code and its message, in which each `{}` is replaced by a value. */
interface RefusalForm {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** The origin of the code or the message; absent for a refusal that was chosen for this emulator. */
  readonly source?: string;
}

const codes = 'docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html';
const signing = 'docs.aws.amazon.com/IAM/latest/UserGuide/signature-v4-troubleshooting.html';
const ebs = 'kubernetes-sigs/aws-ebs-csi-driver';

const client = (code: string, message: string, source?: string): RefusalForm => ({
  ...{ status: 400, code, message },
  ...(source === undefined ? {} : { source }),
});

/** Every refusal of this emulator. */
export const refusals = {
  unsigned: {
    ...{ status: 403, code: 'MissingAuthenticationToken', source: codes },
    message: 'Request is missing Authentication Token',
  },
  badAuthorization: client('IncompleteSignature', 'Authorization header is incomplete: {}', codes),
  unknownCredentials: {
    ...{ status: 401, code: 'AuthFailure', source: codes },
    message: 'AWS was not able to validate the provided access credentials',
  },
  wrongRegion: {
    ...{ status: 401, code: 'AuthFailure', source: signing },
    message: 'Credential should be scoped to a valid Region, not {}',
  },
  expired: client('RequestExpired', 'Request has expired.', codes),
  unauthorized: {
    ...{ status: 403, code: 'UnauthorizedOperation', source: codes },
    message:
      'You are not authorized to perform this operation. User: arn:aws:iam::123456789012:user/{} is not authorized to perform: {} because no identity-based policy allows the {} action',
  },
  dryRun: {
    ...{ status: 412, code: 'DryRunOperation', source: codes },
    message: 'Request would have succeeded, but DryRun flag is set.',
  },
  rateLimited: {
    ...{ status: 503, code: 'RequestLimitExceeded', source: codes },
    message: 'Request limit exceeded.',
  },
  serverError: {
    ...{ status: 500, code: 'InternalError', source: codes },
    message: 'An internal error has occurred',
  },
  unavailable: {
    ...{ status: 503, code: 'Unavailable', source: codes },
    message: 'The server is overloaded and can not handle the request.',
  },
  badAction: client('InvalidAction', 'The action {} is not valid for this web service.', codes),
  noAction: client('MissingAction', 'The request must contain the parameter Action', codes),
  badVersion: client(
    ...([
      'NoSuchVersion',
      'The requested version ({}) of service AmazonEC2 does not exist',
    ] as const),
  ),
  missing: client('MissingParameter', 'The request must contain the parameter {}', codes),
  unknownParameter: client('UnknownParameter', 'The parameter {} is not recognized', codes),
  badValue: client('InvalidParameterValue', 'Value ({}) for parameter {} is invalid. {}', codes),
  badCombination: client('InvalidParameterCombination', '{}', codes),
  badPage: client('InvalidPaginationToken', 'The pagination token is not valid.', codes),
  badVolumeId: client(
    'InvalidParameterValue',
    "Value ({}) for parameter volumeId is invalid. Expected: 'vol-...'.",
    codes,
  ),
  badInstanceId: client('InvalidInstanceID.Malformed', 'Invalid id: "{}"', codes),
  badSnapshotId: client(
    'InvalidParameterValue',
    "Value ({}) for parameter snapshotId is invalid. Expected: 'snap-...'.",
    codes,
  ),
  volumeNotFound: client(
    'InvalidVolume.NotFound',
    "The volume '{}' does not exist.",
    `${ebs}#1916`,
  ),
  snapshotNotFound: client('InvalidSnapshot.NotFound', "The snapshot '{}' does not exist.", codes),
  instanceNotFound: client(
    'InvalidInstanceID.NotFound',
    "The instance ID '{}' does not exist",
    codes,
  ),
  attachmentNotFound: client(
    'InvalidAttachment.NotFound',
    "The volume '{}' is not attached to instance '{}'.",
    codes,
  ),
  zoneUnknown: client('InvalidZone.NotFound', "The zone '{}' does not exist.", codes),
  otherZone: client(
    ...(['InvalidVolume.ZoneMismatch'] as const),
    "The volume '{}' is not in the same availability zone as instance '{}'",
    codes,
  ),
  volumeAttached: client('VolumeInUse', '{} is already attached to an instance', codes),
  volumeInUse: client('VolumeInUse', 'Volume {} is currently attached to {}', codes),
  volumeState: client('IncorrectState', "Volume '{}' is in the '{}' state.", codes),
  snapshotState: client('IncorrectState', 'Snapshot is in invalid state - {}', codes),
  instanceState: client('IncorrectState', "Instance '{}' is not 'running'.", codes),
  deviceTaken: client(
    ...(['InvalidParameterValue'] as const),
    "Invalid value '{}' for unixDevice. Attachment point {} is already in use",
    'kopeio/etcd-manager#323',
  ),
  attachLimit: client(
    ...(['AttachmentLimitExceeded'] as const),
    'Instance {} has reached its limit of {} attachments',
    ebs,
  ),
  modifying: client(
    ...(['IncorrectModificationState'] as const),
    'Volume {} cannot be modified in modification state {}',
    'sodafoundation/strato#1120',
  ),
  modificationRate: client(
    ...(['VolumeModificationRateExceeded'] as const),
    "You've reached the maximum modification rate per volume limit. Wait until fewer than 4 modifications were started within 24 hours.",
    'sodafoundation/strato#1094, with the limit of 2026',
  ),
  shrink: client('InvalidParameterValue', 'New size cannot be smaller than existing size', codes),
  tokenReused: client(
    ...(['IdempotentParameterMismatch'] as const),
    'Parameters on this idempotent request are inconsistent with parameters used in previous request(s)',
    `${ebs}#1428`,
  ),
  tokenTooLong: client(
    ...(['InvalidParameterValue'] as const),
    'Client token must be less than or equal to 64 characters',
    `${ebs}#1038`,
  ),
  volumeLimit: client(
    'VolumeLimitExceeded',
    'You have exceeded your maximum volume limit of {}',
    codes,
  ),
  snapshotLimit: client(
    'SnapshotLimitExceeded',
    'You have exceeded your maximum snapshot limit of {}',
    codes,
  ),
  snapshotRate: client(
    ...(['ConcurrentSnapshotLimitExceeded'] as const),
    'Maximum allowed in-progress snapshots for a single volume exceeded.',
    codes,
  ),
  noCapacity: {
    ...{ status: 500, code: 'InsufficientVolumeCapacity', source: codes },
    message:
      'There is not enough capacity to fulfill your EBS volume provision request in {}. Try another Availability Zone or volume type, or wait for additional capacity.',
  },
} as const satisfies Readonly<Record<string, RefusalForm>>;

export type RefusalName = keyof typeof refusals;

/** The refusal of a request. The state and the calls throw it. */
export class Refusal extends Error {
  readonly refusal: RefusalName;

  /** @param values the values of the message, in order */
  constructor(refusal: RefusalName, ...values: readonly (string | number)[]) {
    super(messageOf(refusal, values));
    this.refusal = refusal;
  }
}

function messageOf(name: RefusalName, values: readonly (string | number)[]): string {
  const rest = [...values];
  return refusals[name].message.replaceAll('{}', () => String(rest.shift() ?? ''));
}

/** Returns the answer of a refusal. */
export function refusalReply(
  { refusal, message }: Pick<Refusal, 'refusal' | 'message'>,
  headers: Readonly<Record<string, string>> = {},
): Reply {
  const { status, code } = refusals[refusal];
  return errorReply(status, code, message, headers);
}

/** Returns an error in the provider's form. */
export function errorReply(
  status: number,
  code: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Reply {
  return xmlReply(status, 'error', { code, message }, headers);
}
