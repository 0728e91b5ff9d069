import { type Clock, jsonEqual, type Lister, type Manager, type ObjectStore } from 'kedge';
import {
  type CallContext,
  type Driver,
  DriverError,
  type DriverRegistry,
  type Parameters,
} from '@kedge/driver-sdk';
import { type StorageClass, storageClasses } from '../../storage-class/kind.js';
import { type Volume, volumes } from '../../volume/kind.js';
import { holderOf, type ParameterResolver, type Redaction } from '../../secret/index.js';
import { driverCall, identityOf } from '../../provisioned/driver-call.js';
import { operationsOf } from '../../provisioned/operations.js';
import type { UsedParameters } from './used-parameters.js';

/** Options of {@link NodeCalls}. */
export interface NodeCallsOptions {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly manager: Manager;
  readonly drivers: DriverRegistry;
  readonly resolver: ParameterResolver;
  readonly node: string;
  readonly used: UsedParameters;
}

/** A driver with the context of a call. */
export interface NodeCall {
  readonly driver: Driver;
  readonly call: CallContext;
  /** Removes confidential values from errors and texts that contain parameters. */
  readonly redaction: Redaction;
}

/** Driver calls for volumes of this node, with their credentials. */
export class NodeCalls {
  readonly #options: NodeCallsOptions;
  readonly #classes: Lister<StorageClass>;

  constructor(options: NodeCallsOptions) {
    this.#options = options;
    // Started here: the first call may be a detach at the shutdown, when caches can't be started any more.
    this.#classes = options.manager.informer(storageClasses).lister;
  }

  /**
   * Prepares the call for an attach, and stores its credentials for the detach. This happens before the reservation, so
   * that a claim can release a volume even if the secret is deleted. If the parameters can't be resolved, those of an
   * earlier mount are used.
   * @throws DriverError InvalidParameters that names the missing secret if there is no earlier value; Unavailable if
   * the credentials can't be stored
   */
  async toAttach(volume: Volume, signal: AbortSignal): Promise<NodeCall> {
    const { resolver, used } = this.#options;
    const { driver, wanted } = await this.#wanted(volume);
    let parameters: Parameters;
    try {
      parameters = resolver.resolve(wanted, holderOf(volumes, volume));
    } catch (error) {
      return this.#asUsed(volume, driver, wanted, signal, error);
    }
    const { sensitiveParameters } = driver.capabilities();
    const confidential = sensitiveParameters.length > 0 || !jsonEqual(parameters, wanted);
    if (confidential) await used.keep(volume.metadata.uid, parameters);
    return this.#call(volume, driver, wanted, parameters, signal);
  }

  /**
   * Prepares a call for a volume that this node holds. Specification 5.3.2: if the parameters can't be resolved, those
   * of the mount are used.
   * @throws DriverError InvalidParameters that names the missing secret if there is no earlier value
   */
  async whileHeld(volume: Volume, signal: AbortSignal): Promise<NodeCall> {
    const { driver, wanted } = await this.#wanted(volume);
    try {
      const parameters = this.#options.resolver.resolve(wanted, holderOf(volumes, volume));
      return this.#call(volume, driver, wanted, parameters, signal);
    } catch (error) {
      return this.#asUsed(volume, driver, wanted, signal, error);
    }
  }

  /**
   * Prepares the call to detach a volume from a claim. Undefined if its parameters can't be resolved and there was no
   * attach call: an attach stores its credentials before the call.
   * @param mounted whether the volume is mounted on this node
   * @throws DriverError as {@link whileHeld}
   */
  async toDetach(
    volume: Volume,
    claim: string,
    mounted: boolean,
    signal: AbortSignal,
  ): Promise<NodeCall | undefined> {
    try {
      return await this.whileHeld(volume, signal);
    } catch (error) {
      if (!(error instanceof DriverError)) throw error;
      const mine = volume.attachments?.find((attachment) => attachment.claim === claim);
      if (mounted || mine?.state !== 'Reserved') throw error;
      return undefined;
    }
  }

  async #wanted(volume: Volume): Promise<{ readonly driver: Driver; readonly wanted: Parameters }> {
    const live = this.#classes.get(volume.storageClassName);
    const { drivers, resolver } = this.#options;
    const parts = { drivers, resolver, holder: holderOf(volumes, volume) };
    const { driver, parameters } = await driverCall(parts, volume, live);
    return { driver, wanted: parameters };
  }

  async #asUsed(
    volume: Volume,
    driver: Driver,
    wanted: Parameters,
    signal: AbortSignal,
    unresolved: unknown,
  ): Promise<NodeCall> {
    const used = await this.#options.used.find(volume.metadata.uid);
    if (!used) throw unresolved;
    return this.#call(volume, driver, wanted, used, signal);
  }

  #call(
    volume: Volume,
    named: Driver,
    wanted: Parameters,
    parameters: Parameters,
    signal: AbortSignal,
  ): NodeCall {
    const { node, resolver } = this.#options;
    const { driver, redaction } = resolver.confidential(named, wanted, parameters);
    const operations = operationsOf(
      { ...this.#options, controller: 'agent' },
      volumes,
      volume,
      node,
    );
    const call = { volume: identityOf(volume), parameters, node, signal, operations };
    return { driver, redaction, call };
  }
}
