import type { Driver } from '../contract/driver.js';
import { type Pending, untilOver } from '../contract/operations.js';

/** A {@link Driver} whose calls never answer Pending. */
export type SynchronousDriver = {
  readonly [M in keyof Driver]: Driver[M] extends (request: infer Q) => Promise<infer R>
    ? (request: Q) => Promise<Exclude<R, Pending>>
    : Driver[M];
};

/**
 * Returns a driver that repeats each call of another one until it no longer answers Pending. See {@link untilOver}. The
 * optional members of the other one, such as `check`, are omitted.
 */
export function synchronousDriver(
  driver: Driver,
  wait: (ms: number) => Promise<void>,
): SynchronousDriver {
  const whole =
    <Q, R>(call: (request: Q) => Promise<R | Pending>) =>
    (request: Q): Promise<R> =>
      untilOver(() => call(request), wait);
  return {
    name: driver.name,
    capabilities: () => driver.capabilities(),
    validateParameters: (parameters, context) => driver.validateParameters(parameters, context),
    provision: whole((request) => driver.provision(request)),
    observe: (request) => driver.observe(request),
    delete: whole((request) => driver.delete(request)),
    attach: whole((request) => driver.attach(request)),
    detach: whole((request) => driver.detach(request)),
    mount: (request) => driver.mount(request),
    unmount: (request) => driver.unmount(request),
    expand: whole((request) => driver.expand(request)),
    createSnapshot: whole((request) => driver.createSnapshot(request)),
    observeSnapshot: (request) => driver.observeSnapshot(request),
    deleteSnapshot: whole((request) => driver.deleteSnapshot(request)),
    restore: whole((request) => driver.restore(request)),
  };
}
