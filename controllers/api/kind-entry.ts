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
import type { Runtime } from '../agent/index.js';
import type { OnlineBackups } from '../backup/index.js';
import type { ControllerPolicy } from '../policy/policy.js';
import type { KeyRotation, ParameterResolver, Sealer } from '../secret/index.js';

/** What the rules and methods of all kinds look at. */
export interface ApiOptions {
  readonly drivers: DriverRegistry;
  readonly sealer: Sealer;
  readonly runtimes: readonly Runtime[];
  readonly defaultStorageClass: string | undefined;
  readonly rotation: KeyRotation;
  readonly backups: OnlineBackups;
  readonly clock: Clock;
  /** Default: what applies where nothing is configured. */
  readonly policy?: ControllerPolicy;
}

/** What the controllers of all kinds are made with. */
export interface KindControllerOptions {
  readonly store: ObjectStore;
  readonly manager: Manager;
  readonly drivers: DriverRegistry;
  readonly resolver: ParameterResolver;
  /** The node that this process is the agent of. */
  readonly node: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly policy: ControllerPolicy;
}

/** What a server does for a kind. */
export interface KindApi<T extends ApiObject = ApiObject> {
  /** Rules that its writes must pass; absent: those of its schema alone. */
  readonly rules?: (options: ApiOptions) => AdmissionRules<T>;
  /** Methods beside the standard ones. */
  readonly verbs?: (parts: ApiParts, options: ApiOptions) => readonly CustomMethod[];
  readonly controllers?: (options: KindControllerOptions) => readonly Controller[];
  /** Its controllers call drivers: their calls end before another process is the agent of the node. */
  readonly callsDrivers?: boolean;
}

/** What the built-in policy `node` allows: `record` is create and update, the last two are parts of an object. */
export type NodeRight = 'read' | 'reveal' | 'record' | 'status' | 'finalizers';

/** What built-in policies allow with the objects of a kind, beside those that allow everything. */
export interface KindRights {
  /** What `readwrite` allows; `readonly` then reads it. Absent: neither names the kind. */
  readonly people?: 'write' | 'read';
  readonly node?: readonly NodeRight[];
}

type PhaseOf<T> = T extends { readonly status?: infer P } ? P & string : never;

/** A kind and all that is to be known of it by name: what the rest of Kedge derives its lists from. */
export interface KindEntry<T extends ApiObject = ApiObject> {
  readonly kind: Kind<T>;
  readonly rights: KindRights;
  /** Events are written about its transitions; those into one of these phases are warnings. Absent: no events. */
  readonly troubledPhases?: readonly PhaseOf<T>[];
  /** Loaded by servers only; the command line needs none of it. */
  readonly api?: () => Promise<KindApi<T>>;
}

/** An entry for the list of all kinds, its object type forgotten. */
export function kindEntry<T extends ApiObject>(entry: KindEntry<T>): KindEntry {
  return entry;
}
