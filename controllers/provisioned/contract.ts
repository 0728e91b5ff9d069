import type {
  ApiObject,
  Clock,
  Condition,
  Kind,
  Logger,
  Manager,
  ObjectStore,
  Random,
} from 'kedge';
import type { Driver, DriverRegistry, Parameters } from '@kedge/driver-sdk';
import type { ControllerPolicy } from '../policy/policy.js';
import type { ParameterResolver } from '../secret/index.js';
import type { DriverOperation } from '../volume/kind.js';
import type { Reason } from '../reasons/index.js';
import type { Failure } from './failure.js';
import type { Part } from './calling-process.js';

/** Dependencies of a controller of objects that drivers provision. */
export interface ProvisionedOptions {
  readonly store: ObjectStore;
  readonly manager: Manager;
  readonly drivers: DriverRegistry;
  readonly resolver: ParameterResolver;
  readonly node: string;
  /** Default: `cluster`, the part in the process that owns the store. */
  readonly part?: Part;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly policy: ControllerPolicy;
}

/** An object that a driver provisions, with the fields that the life cycle reads. */
export interface Provisioned extends ApiObject {
  readonly attempts?: number;
  readonly reason?: string;
  readonly conditions?: readonly Condition[];
  readonly lastOperation?: DriverOperation;
}

/** The status fields that volumes and snapshots have in common. */
export type Report = Partial<Pick<Provisioned, 'attempts' | 'conditions' | 'lastOperation'>> & {
  readonly reason?: Reason;
};

/** The properties in which volumes and snapshots differ. */
export interface ProvisionedKind<T extends Provisioned, F extends string> {
  readonly kind: Kind<T, F>;
  /** Name of the controller: operations are recorded under it. */
  readonly controller: string;
  /** Status fields that the node with the data reports. */
  readonly reported: ReadonlySet<string>;
  /** Type of the condition that reports the progress of provisioning. */
  readonly madeCondition: string;
}

/** A failed call with its consequence, see {@link classifyFailure}. */
export interface ClassifiedFailure extends Failure {
  /** Milliseconds until the retry; undefined if the call is not retried until something changes. */
  readonly againMs: number | undefined;
  /** The status fields that report the failure, without the phase. */
  readonly report: Report;
}

/** A driver with the parameters of a call. */
export interface ResolvedCall {
  readonly driver: Driver;
  /** Parameters with unresolved secret references, which may be stored. */
  readonly parameters: Parameters;
  readonly resolved: Parameters;
}
