import {
  type CallContext,
  type ClassRequest,
  DriverError,
  isSecretReference,
  type ParameterContext,
  type ParameterRule,
  type Parameters,
  type ParameterViolation,
  requireParameters,
  type SnapshotHandleRequest,
} from '@kedge/driver-sdk';
import { gibOf } from '@kedge/driver-sdk/provider';
import type { AwsKeys } from './sdk.js';

/** The driver's parameters (specification section 2.5), without `fsType`, which all block drivers have. */
export const cloud3Parameters: readonly ParameterRule[] = [
  { key: 'region', required: 'class' },
  { key: 'availabilityZone' },
  { key: 'volumeType' },
  { key: 'iops', wholeNumber: true },
  { key: 'throughput', wholeNumber: true },
  { key: 'encrypted', values: ['true', 'false'] },
  { key: 'kmsKeyId' },
  // It is not a secret, but names the credential: a new key never goes with an old id.
  { key: 'accessKeyId', credential: true },
  { key: 'secretAccessKey', sensitive: true },
  { key: 'sessionToken', sensitive: true },
];

/** The label of a volume's zone. */
export const zoneLabel = 'svc.io/zone';
/** The label of a volume's region. */
export const regionLabel = 'svc.io/region';

interface VolumeType {
  readonly minGib: number;
  readonly maxGib: number;
  readonly iops: 'required' | 'optional' | 'refused';
  readonly throughput: boolean;
}

/** The provider's volume types. Other ones are passed on unchecked. */
const volumeTypes: Readonly<Record<string, VolumeType>> = {
  gp3: { minGib: 1, maxGib: 65_536, iops: 'optional', throughput: true },
  gp2: { minGib: 1, maxGib: 16_384, iops: 'refused', throughput: false },
  io1: { minGib: 4, maxGib: 16_384, iops: 'required', throughput: false },
  io2: { minGib: 4, maxGib: 65_536, iops: 'required', throughput: false },
  st1: { minGib: 125, maxGib: 16_384, iops: 'refused', throughput: false },
  sc1: { minGib: 125, maxGib: 16_384, iops: 'refused', throughput: false },
  standard: { minGib: 1, maxGib: 1_024, iops: 'refused', throughput: false },
};

/** The default type of volumes. The provider's own default is gp2. */
const defaultType = 'gp3';

function given(parameters: Parameters, key: string): string | undefined {
  const value = parameters[key] ?? '';
  return value === '' ? undefined : value;
}

/** A part of a host name: the SDK refuses other regions, after the class was accepted. */
const regionForm = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;

/** The name of a zone, such as `eu-central-1a`: that of its region and a letter. */
const zoneForm = /^([a-z]{2}(?:-[a-z]+)+-\d+)[a-z]$/;

/** Finds a region that is the name of a zone, and a zone that is in another region: the provider refuses both. */
function placeViolations(
  region: string | undefined,
  zone: string | undefined,
): readonly ParameterViolation[] {
  const [, own] = zoneForm.exec(region ?? '') ?? [];
  if (own !== undefined)
    return [
      {
        key: 'region',
        description:
          'is the name of an availability zone; give its region, which has no letter at the end',
      },
    ];
  const [, other] = zoneForm.exec(zone ?? '') ?? [];
  if (region === undefined || other === undefined || other === region) return [];
  return [
    {
      key: 'availabilityZone',
      description: 'is a zone of another region; its name begins with that of parameter region',
    },
  ];
}

/**
 * Finds names of regions that the SDK refuses, combinations that the provider refuses, and credentials without one of
 * their parts. The value of a parameter that is a secret reference is validated once it is resolved.
 */
export function combinationViolations(
  parameters: Parameters,
  { level }: ParameterContext,
): readonly ParameterViolation[] {
  const violations: ParameterViolation[] = [];
  const known = (key: string): string | undefined => {
    const value = given(parameters, key);
    return value !== undefined && level !== 'resolved' && isSecretReference(value)
      ? undefined
      : value;
  };
  const region = known('region');
  if (region !== undefined && !regionForm.test(region))
    violations.push({
      key: 'region',
      description: 'is not the name of a region; give a name such as eu-central-1',
    });
  violations.push(...placeViolations(region, known('availabilityZone')));
  const name = given(parameters, 'volumeType') === undefined ? defaultType : known('volumeType');
  const type =
    name !== undefined && Object.hasOwn(volumeTypes, name) ? volumeTypes[name] : undefined;
  const shown = level === 'resolved' ? 'this volumeType' : `volumeType ${name ?? ''}`;
  if (type?.iops === 'refused' && given(parameters, 'iops') !== undefined)
    violations.push({
      key: 'iops',
      description: `is not possible with ${shown}; omit it, or use volumeType gp3, io1 or io2`,
    });
  // A volume may add it to the parameters of its class.
  if (type?.iops === 'required' && level !== 'class' && given(parameters, 'iops') === undefined)
    violations.push({ key: 'iops', description: `is required for ${shown}` });
  if (type?.throughput === false && given(parameters, 'throughput') !== undefined)
    violations.push({
      key: 'throughput',
      description: `is not possible with ${shown}; omit it, or use volumeType gp3`,
    });
  if (known('encrypted') === 'false' && given(parameters, 'kmsKeyId') !== undefined)
    violations.push({
      key: 'kmsKeyId',
      description: 'is not possible with encrypted false; omit it, or set encrypted to true',
    });
  if (level !== 'class') violations.push(...keyViolations(parameters));
  return violations;
}

/** A half credential would make the provider's chain of default credentials be used in its place. */
function keyViolations(parameters: Parameters): readonly ParameterViolation[] {
  const [id, secret, token] = ['accessKeyId', 'secretAccessKey', 'sessionToken'].map((key) =>
    given(parameters, key),
  );
  if ((id === undefined) === (secret === undefined)) {
    if (id !== undefined || token === undefined) return [];
    return [
      {
        key: 'sessionToken',
        description:
          'is not possible without accessKeyId and secretAccessKey; set both, or omit it',
      },
    ];
  }
  const [key, other] =
    id === undefined ? ['accessKeyId', 'secretAccessKey'] : ['secretAccessKey', 'accessKeyId'];
  return [
    {
      key,
      description: `is required with ${other}; set both (the role of the instance is used if a class and its volume have neither)`,
    },
  ];
}

/** The credentials that the parameters name; undefined: the provider's chain of default credentials. */
function keysOf(parameters: Parameters): AwsKeys | undefined {
  requireParameters(keyViolations(parameters));
  const accessKeyId = given(parameters, 'accessKeyId');
  const secretAccessKey = given(parameters, 'secretAccessKey');
  const sessionToken = given(parameters, 'sessionToken');
  if (accessKeyId === undefined || secretAccessKey === undefined) return undefined;
  return { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) };
}

/** The context of the provider calls within one driver call. */
export interface Ec2Caller {
  readonly region: string;
  /** Undefined: the provider's chain of default credentials. */
  readonly keys: AwsKeys | undefined;
  /** Uid of the volume or snapshot, for the call journal; `check` for calls for a class. */
  readonly about: string;
  readonly signal: AbortSignal;
}

function callerWith(parameters: Parameters, about: string, signal: AbortSignal): Ec2Caller {
  const region = given(parameters, 'region');
  if (region === undefined)
    throw new DriverError('InvalidParameters', 'parameter region: is required by this driver');
  return { region, keys: keysOf(parameters), about, signal };
}

/**
 * Returns the context of the provider calls for a driver call.
 * @throws DriverError InvalidParameters for a half credential, or without a region
 */
export function callerOf({
  parameters,
  volume,
  signal,
}: Pick<CallContext, 'parameters' | 'volume' | 'signal'>): Ec2Caller {
  return callerWith(parameters, volume.uid, signal);
}

/** Like {@link callerOf}, for a call for a snapshot. @throws DriverError InvalidParameters as there */
export function snapshotCallerOf({
  parameters,
  snapshot,
  signal,
}: SnapshotHandleRequest): Ec2Caller {
  return callerWith(parameters, snapshot.uid, signal);
}

/** Like {@link callerOf}, for a call for a class. @throws DriverError InvalidParameters as there */
export function classCallerOf({ parameters, signal }: ClassRequest): Ec2Caller {
  return callerWith(parameters, 'check', signal);
}

/**
 * The fields of CreateVolume that the parameters determine. Volume type and encryption are always sent, because the
 * driver's defaults differ from the provider's. The other fields are sent only if the parameters give them.
 */
export function createFields(parameters: Parameters): Readonly<Record<string, unknown>> {
  const iops = given(parameters, 'iops');
  const throughput = given(parameters, 'throughput');
  const kmsKeyId = given(parameters, 'kmsKeyId');
  return {
    VolumeType: given(parameters, 'volumeType') ?? defaultType,
    Encrypted: given(parameters, 'encrypted') !== 'false',
    ...(iops === undefined ? {} : { Iops: Number(iops) }),
    ...(throughput === undefined ? {} : { Throughput: Number(throughput) }),
    ...(kmsKeyId === undefined ? {} : { KmsKeyId: kmsKeyId }),
  };
}

/** The zone of a volume. @throws DriverError InvalidParameters if neither the parameters nor a label name one */
export function zoneOf(parameters: Parameters, topology: Readonly<Record<string, string>>): string {
  const zone = given(parameters, 'availabilityZone') ?? topology[zoneLabel] ?? '';
  if (zone !== '') return zone;
  throw new DriverError(
    'InvalidParameters',
    `parameter availabilityZone: is required where no node has the label ${zoneLabel}`,
  );
}

/**
 * Returns a requested size in GiB: rounded up, and at least the minimum of the volume's type.
 * @throws DriverError InvalidParameters above the maximum of the type
 */
export function requireSize(sizeBytes: bigint, parameters: Parameters): number {
  const name = given(parameters, 'volumeType') ?? defaultType;
  const type = Object.hasOwn(volumeTypes, name) ? volumeTypes[name] : undefined;
  const gib = gibOf(sizeBytes, type?.minGib ?? 1);
  if (!type || gib <= type.maxGib) return gib;
  throw new DriverError(
    'InvalidParameters',
    `${sizeBytes} bytes are more than the ${type.maxGib} GiB of the largest volume of its type; request a smaller size`,
  );
}
