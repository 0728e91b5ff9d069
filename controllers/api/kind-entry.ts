import type {
  ApiObject,
  Clock,
  Controller,
  Kind,
  Logger,
  Manager,
  ObjectStore,
  Random,
} from 'kedge';
import type { AdmissionRules, ApiParts, CustomMethod } from 'kedge/server';
import type { DriverRegistry } from '@kedge/driver-sdk';
import type { NodeImages, Runtime } from '../agent/index.js';
import type { OnlineBackups } from '../backup/index.js';
import type { ControllerPolicy } from '../policy/policy.js';
import type { InspectionOptions } from '../inspection/index.js';
import type { StorageRootVerbOptions } from '../storage-root/index.js';
import type { KeyRotation, ParameterResolver, Sealer } from '../secret/index.js';

/** Options of the rules and methods of all kinds. */
export interface ApiOptions extends InspectionOptions, StorageRootVerbOptions {
  readonly sealer: Sealer;
  readonly runtimes: readonly Runtime[];
  /** The node of the runtimes. Absent: they are those of all nodes. */
  readonly node?: string;
  /** Absent: the methods of images are refused. */
  readonly images?: NodeImages;
  readonly defaultStorageClass: string | undefined;
  readonly rotation: KeyRotation;
  readonly backups: OnlineBackups;
  readonly clock: Clock;
  /** Default: the policy of an unconfigured daemon. */
  readonly policy?: ControllerPolicy;
}

/** Options of the controllers of all kinds. */
export interface KindControllerOptions {
  readonly store: ObjectStore;
  readonly manager: Manager;
  readonly drivers: DriverRegistry;
  readonly resolver: ParameterResolver;
  /** The node whose agent runs in this process. */
  readonly node: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly policy: ControllerPolicy;
}

/** The API of a kind. */
export interface KindApi<T extends ApiObject = ApiObject> {
  /** Rules of its writes; absent: only those of its schema. */
  readonly rules?: (options: ApiOptions) => AdmissionRules<T>;
  /** Custom methods. */
  readonly verbs?: (parts: ApiParts, options: ApiOptions) => readonly CustomMethod[];
  readonly controllers?: (options: KindControllerOptions) => readonly Controller[];
  /** Whether its controllers call drivers: their calls end before another process becomes the agent of the node. */
  readonly callsDrivers?: boolean;
}

/** The rights of the built-in policy `node`. `record` is get, list, create and update; the last three are subresources. */
export type NodeRight = 'read' | 'reveal' | 'record' | 'status' | 'finalizers' | 'expiry';

/** The rights that built-in policies, other than unrestricted ones, grant on a kind. */
export interface KindRights {
  /** The rights of `readwrite`; `readonly` then grants read. Absent: neither grants rights. */
  readonly people?: 'write' | 'read';
  readonly node?: readonly NodeRight[];
}

type PhaseOf<T> = T extends { readonly status?: infer P } ? P & string : never;

/** A kind with its rights, its events and its API. Other lists of kinds are derived from these entries. */
export interface KindEntry<T extends ApiObject = ApiObject> {
  readonly kind: Kind<T>;
  readonly rights: KindRights;
  /** Phases whose transitions are warnings. Events are written only for kinds with this list. */
  readonly troubledPhases?: readonly PhaseOf<T>[];
  /** Loaded by servers only, not by the command line. */
  readonly api?: () => Promise<KindApi<T>>;
}

/** An entry for the list of all kinds, with its object type erased. */
export function kindEntry<T extends ApiObject>(entry: KindEntry<T>): KindEntry {
  return entry;
}
