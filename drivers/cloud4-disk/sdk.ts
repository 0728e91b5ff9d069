import type { OptionalPackage } from '@kedge/driver-sdk/provider';

/*
 * The part of the SDK that the driver uses. The SDK is an optional package: these sources compile without its types. A
 * test compares the types where the package is installed.
 */

/** The result of a read. */
export type Answer = Promise<readonly [unknown, ...unknown[]]>;
/** The result of a call that starts an operation. */
export type Started = Promise<readonly [{ readonly latestResponse: unknown }, ...unknown[]]>;

/**
 * Requests name resources by strings; bodies are `...Resource`. A test compares the forms with the types of the SDK.
 */
export type Request = object;

/** With `autoPaginate` false, a list is one request, and its third result is the body. */
interface ListOptions {
  readonly autoPaginate: false;
}

export interface DisksSdk {
  get(request: Request): Answer;
  list(request: Request, options: ListOptions): Answer;
  testIamPermissions(request: Request): Answer;
  insert(request: Request): Started;
  delete(request: Request): Started;
  resize(request: Request): Started;
}

export interface InstancesSdk {
  get(request: Request): Answer;
  testIamPermissions(request: Request): Answer;
  attachDisk(request: Request): Started;
  detachDisk(request: Request): Started;
}

export interface SnapshotsSdk {
  get(request: Request): Answer;
  list(request: Request, options: ListOptions): Answer;
  insert(request: Request): Started;
  delete(request: Request): Started;
}

export interface OperationsSdk {
  get(request: Request): Answer;
}

/** The part of an authentication client that clients of the SDK use for requests. */
export interface RequestAuth {
  getRequestHeaders(url?: string): Promise<Headers>;
  fetch(url: string, init: RequestParts): Promise<ReplyParts>;
}

/** The second argument of {@link RequestAuth.fetch}. */
export interface RequestParts {
  readonly method: string;
  readonly body?: string | Uint8Array;
}

/** The part of a response that clients of the SDK read. */
export interface ReplyParts {
  readonly ok: boolean;
  readonly status: number;
  arrayBuffer(): Promise<Uint8Array>;
}

interface ClientOptions {
  readonly authClient: RequestAuth;
  readonly universeDomain: string;
}

type Client<T> = new (options: ClientOptions) => T;

/** `@google-cloud/compute`. */
export interface ComputeSdk {
  readonly DisksClient: Client<DisksSdk>;
  readonly InstancesClient: Client<InstancesSdk>;
  readonly SnapshotsClient: Client<SnapshotsSdk>;
  readonly ZoneOperationsClient: Client<OperationsSdk>;
  readonly GlobalOperationsClient: Client<OperationsSdk>;
}

/** A source of the authorization header. */
export interface AuthClient {
  getRequestHeaders(url?: string): Promise<Headers>;
}

export interface JwtOptions {
  readonly email: string;
  readonly key: string;
  readonly keyId?: string;
  readonly scopes: readonly string[];
}

/** `google-auth-library`, which the SDK depends on. */
export interface AuthSdk {
  readonly JWT: new (options: JwtOptions) => AuthClient & { useJWTAccessWithScope?: boolean };
  readonly GoogleAuth: new (options: {
    readonly scopes: string[];
  }) => {
    getClient(): Promise<AuthClient>;
  };
  readonly gcpMetadata: {
    isAvailable(): Promise<boolean>;
    /** Whether the machine is an instance of the provider, by its firmware. */
    getGCPResidency(): boolean;
    resetIsAvailableCache(): void;
    project(path: string): Promise<unknown>;
  };
}

/** The SDK's package with its authentication. */
export interface Sdk {
  readonly compute: ComputeSdk;
  readonly auth: AuthSdk;
}

/** The optional package of the driver. */
export const computePackage: OptionalPackage = {
  name: '@google-cloud/compute',
  version: '6.15.0',
  driver: 'cloud4-disk',
};
