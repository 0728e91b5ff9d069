import { createRequire } from 'node:module';
import {
  inTurns,
  loadOptional,
  type OptionalPackage,
  ownPlace,
  type PackagePlace,
  requireInstalled,
} from '@kedge/driver-sdk/provider';

/*
 * The part of the SDK that the driver uses. The SDK is an optional package: these sources compile without its types. A
 * test compares the types where the package is installed.
 */

/** The actions of EC2 that the driver calls. */
export const actions = [
  'AttachVolume',
  'CreateSnapshot',
  'CreateTags',
  'CreateVolume',
  'DeleteSnapshot',
  'DeleteVolume',
  'DescribeInstances',
  'DescribeSnapshots',
  'DescribeVolumes',
  'DescribeVolumesModifications',
  'DetachVolume',
  'ModifyVolume',
] as const;

/** See {@link actions}. */
export type Action = (typeof actions)[number];

/** Credentials of an AWS account. */
export interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  /**
   * The end of credentials of the instance's role that the SDK continues to use, because the metadata service gave no new
   * ones; absent for others.
   */
  readonly originalExpiration?: Date;
}

/** A signed request. */
export interface SdkRequest {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number | undefined;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** The answer to a request, as the SDK reads it. */
export interface SdkResponse {
  readonly statusCode: number;
  readonly headers: Record<string, string>;
  readonly body: Uint8Array;
}

/** Sends the requests of a client. */
export interface SdkHandler {
  handle(
    request: SdkRequest,
    options?: { readonly abortSignal?: unknown },
  ): Promise<{ response: SdkResponse }>;
}

/** The logger of the SDK. */
export interface SdkLogger {
  trace(...content: unknown[]): void;
  debug(...content: unknown[]): void;
  info(...content: unknown[]): void;
  warn(...content: unknown[]): void;
  error(...content: unknown[]): void;
}

/** The options of a client. */
export interface SdkOptions {
  readonly region: string;
  readonly endpoint?: string;
  readonly credentials?: AwsKeys;
  readonly maxAttempts: number;
  readonly requestHandler: SdkHandler;
  readonly logger: SdkLogger;
}

/** A client of one region with one source of credentials. */
export interface SdkClient {
  readonly config: {
    credentials(): Promise<AwsKeys>;
  };
  send(command: object, options: { readonly abortSignal: AbortSignal }): Promise<unknown>;
  destroy(): void;
}

/** `@aws-sdk/client-ec2`. */
export type Ec2Sdk = {
  readonly EC2Client: new (options: SdkOptions) => SdkClient;
} & { readonly [A in Action as `${A}Command`]: new (input: object) => object };

/** The optional package of the driver. */
export const ec2Package: OptionalPackage = {
  name: '@aws-sdk/client-ec2',
  version: '3.1169.0',
  driver: 'cloud3-block',
};

/** Packages that the SDK loads, in the order in which it does; each of them alone takes less time than all at once. */
const parts = ['@aws-sdk/core/client', '@smithy/core', '@aws-sdk/credential-provider-node'];

/**
 * Loads the SDK in turns of the event loop.
 * @throws DriverError as {@link loadSdk}
 */
export async function loadSdkInTurns(place: PackagePlace = ownPlace()): Promise<void> {
  requireInstalled(ec2Package, place);
  const ofSdk = createRequire(createRequire(place.from).resolve(ec2Package.name));
  await inTurns(parts.map((part) => () => ofSdk(part) as unknown));
  loadOptional(ec2Package, place);
}

/**
 * Returns the origin of the instance metadata service, by the environment and the configuration file of the SDK.
 * @throws DriverError as {@link loadSdk}; errors of the SDK for an invalid configuration
 */
export async function metadataEndpoint(place: PackagePlace = ownPlace()): Promise<string> {
  loadOptional(ec2Package, place);
  // Each package is resolved by the one that depends on it, as its installer may have placed it there.
  const ofSdk = createRequire(createRequire(place.from).resolve(ec2Package.name));
  const ofChain = createRequire(ofSdk.resolve('@aws-sdk/credential-provider-node'));
  const { getInstanceMetadataEndpoint } = ofChain(
    '@smithy/credential-provider-imds',
  ) as MetadataPackage;
  const { protocol, hostname, port } = await getInstanceMetadataEndpoint();
  return `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}`;
}

/** The part of `@smithy/credential-provider-imds` that the driver uses. */
interface MetadataPackage {
  readonly getInstanceMetadataEndpoint: () => Promise<
    Pick<SdkRequest, 'protocol' | 'hostname' | 'port'>
  >;
}

/** Whether a debug text of the SDK says that it asks the instance metadata service for credentials. */
export function asksMetadata(text: unknown): boolean {
  return typeof text === 'string' && text.endsWith('remoteProvider::fromInstanceMetadata');
}

/**
 * Loads the SDK at its first use, which takes a while.
 * @throws DriverError Unavailable if it is not installed, with the command that installs it; Internal if it can't be
 * loaded
 */
export function loadSdk(): Ec2Sdk {
  return loadOptional(ec2Package) as Ec2Sdk;
}
