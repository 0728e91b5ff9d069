import type { Logger, ObjectStore } from 'kedge';
import { type Driver, DriverError, type DriverRegistry } from '@kedge/driver-sdk';
import {
  type ForeignRecord,
  foreignRecordOf,
  foreignWords,
} from '../provisioned/foreign-record.js';

/** Dependencies of {@link foreignGuard}. */
export interface ForeignGuardOptions {
  readonly store: ObjectStore;
  readonly logger: Logger;
}

interface Named {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
}

/** Unavailable: the operation waits. Unsupported: the operation fails, and deletions do not wait for it. */
type Refusal = 'Unavailable' | 'Unsupported';

function refusal(kind: Refusal, record: ForeignRecord, { namespace, name }: Named): DriverError {
  const what = record.kindName.toLowerCase();
  return new DriverError(kind, `${what} ${namespace}/${name} ${foreignWords(record.clusterId)}`);
}

/** Wraps drivers: they are not called for volumes and snapshots of the cluster that this one is a copy of. */
export function foreignGuard(
  drivers: DriverRegistry,
  options: ForeignGuardOptions,
): DriverRegistry {
  const guarded = new WeakMap<Driver, Driver>();
  return {
    names: drivers.names,
    onNodes: drivers.onNodes ?? [],
    ...(drivers.declaredCredentials ? { declaredCredentials: drivers.declaredCredentials } : {}),
    credentialsOf: (name) => drivers.credentialsOf?.(name) ?? {},
    async get(name) {
      const driver = await drivers.get(name);
      if (!driver) return undefined;
      const known = guarded.get(driver) ?? guard(driver, options);
      guarded.set(driver, known);
      return known;
    },
  };
}

function guard(driver: Driver, { store, logger }: ForeignGuardOptions): Driver {
  const requireOwn = async (kind: Refusal, ...named: readonly Named[]): Promise<void> => {
    for (const each of named) {
      const record = await foreignRecordOf(store, each.uid);
      if (record) throw refusal(kind, record, each);
    }
  };
  /** Calls the driver, unless the volume or snapshot belongs to another cluster. Then resolves without a call. */
  const forget = async <T>(named: Named, call: () => Promise<T>): Promise<T | void> => {
    const record = await foreignRecordOf(store, named.uid);
    if (!record) return call();
    const { namespace, name } = named;
    logger.info('no driver call: the object belongs to the cluster that this one is a copy of', {
      kind: record.kindName,
      namespace,
      name,
      clusterId: record.clusterId,
    });
  };
  const { provider, check, orphans, find, load, recentCalls } = driver;
  return {
    name: driver.name,
    ...(provider === undefined ? {} : { provider }),
    // Calls that concern no object of the cluster, and change nothing.
    ...(check ? { check } : {}),
    ...(orphans ? { orphans } : {}),
    ...(find ? { find } : {}),
    ...(recentCalls ? { recentCalls } : {}),
    ...(load ? { load } : {}),
    capabilities: () => driver.capabilities(),
    validateParameters: (parameters, context) => driver.validateParameters(parameters, context),
    provision: async (request) => {
      await requireOwn('Unsupported', request.volume);
      return driver.provision(request);
    },
    observe: async (request) => {
      await requireOwn('Unsupported', request.volume);
      return driver.observe(request);
    },
    delete: (request) => forget(request.volume, () => driver.delete(request)),
    attach: async (request) => {
      await requireOwn('Unavailable', request.volume);
      return driver.attach(request);
    },
    detach: (request) => forget(request.volume, () => driver.detach(request)),
    mount: async (request) => {
      await requireOwn('Unavailable', request.volume);
      return driver.mount(request);
    },
    unmount: (request) => forget(request.volume, () => driver.unmount(request)),
    expand: async (request) => {
      await requireOwn('Unavailable', request.volume);
      return driver.expand(request);
    },
    createSnapshot: async (request) => {
      await requireOwn('Unsupported', request.volume, request.snapshot);
      return driver.createSnapshot(request);
    },
    observeSnapshot: async (request) => {
      await requireOwn('Unsupported', request.snapshot);
      return driver.observeSnapshot(request);
    },
    deleteSnapshot: (request) => forget(request.snapshot, () => driver.deleteSnapshot(request)),
    restore: async (request) => {
      await requireOwn('Unsupported', request.volume, request.snapshot);
      return driver.restore(request);
    },
  };
}
