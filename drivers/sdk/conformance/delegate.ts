import type { Driver } from '../contract/driver.js';
import type { SynchronousDriver } from '../provider/synchronous-driver.js';

/** A driver that forwards the calls that every driver has, except those that `changes` replaces. */
export function delegate(
  driver: SynchronousDriver,
  changes?: Partial<SynchronousDriver>,
): SynchronousDriver;
export function delegate(driver: Driver, changes?: Partial<Driver>): Driver;
export function delegate(driver: Driver, changes: Partial<Driver> = {}): Driver {
  return {
    name: driver.name,
    capabilities: () => driver.capabilities(),
    validateParameters: (parameters, context) => driver.validateParameters(parameters, context),
    provision: async (request) => driver.provision(request),
    observe: async (request) => driver.observe(request),
    delete: async (request) => driver.delete(request),
    attach: async (request) => driver.attach(request),
    detach: async (request) => driver.detach(request),
    mount: async (request) => driver.mount(request),
    unmount: async (request) => driver.unmount(request),
    expand: async (request) => driver.expand(request),
    createSnapshot: async (request) => driver.createSnapshot(request),
    observeSnapshot: async (request) => driver.observeSnapshot(request),
    deleteSnapshot: async (request) => driver.deleteSnapshot(request),
    restore: async (request) => driver.restore(request),
    ...changes,
  };
}
