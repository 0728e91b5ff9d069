import { setTimeout as pause } from 'node:timers/promises';
import { inspect } from 'node:util';
import type { Driver, Parameters } from '../contract/driver.js';
import { DriverError } from '../errors/errors.js';
import { ConformanceError } from './failure.js';
import { delegate } from './delegate.js';

/** Shorter values occur in messages by accident. */
const secretLengthMin = 4;

/** Returns the answer of a call. @throws ConformanceError if the call is still running after `timeoutMs` */
export async function withinTime<T>(what: string, timeoutMs: number, call: Promise<T>): Promise<T> {
  const timer = new AbortController();
  const late = pause(timeoutMs, undefined, { signal: timer.signal }).then(() => {
    throw new ConformanceError(`${what} did not end within ${timeoutMs} ms`);
  });
  try {
    return await Promise.race([call, late]);
  } finally {
    timer.abort();
    late.catch(() => undefined);
  }
}

/**
 * The driver with every call watched: it ends in time, it throws DriverError only, and neither its answers
 * nor its errors contain the value of a sensitive parameter.
 * @throws ConformanceError from the call that breaks one of these.
 */
export function watchedDriver(driver: Driver, callTimeoutMs: number): Driver {
  const { sensitiveParameters } = driver.capabilities();

  const requireNoSecret = (what: string, value: unknown, parameters: Parameters): void => {
    const text = inspect(value, { depth: 8, showHidden: true });
    for (const key of sensitiveParameters) {
      const secret = parameters[key] ?? '';
      if (secret.length >= secretLengthMin && text.includes(secret))
        throw new ConformanceError(`${what} contains the value of the sensitive parameter ${key}`);
    }
  };

  const watch =
    <R extends { readonly parameters: Parameters }, T>(
      name: string,
      work: (request: R) => Promise<T>,
    ) =>
    async (request: R): Promise<T> => {
      const running = (async () => work(request))();
      // The call may outlive its timeout and is abandoned then.
      running.catch(() => undefined);
      let answer: T;
      try {
        answer = await withinTime(name, callTimeoutMs, running);
      } catch (error) {
        if (error instanceof ConformanceError) throw error;
        requireNoSecret(`an error of ${name}`, error, request.parameters);
        if (error instanceof DriverError) throw error;
        throw new ConformanceError(`${name} threw ${String(error)}, which is not a DriverError`, {
          cause: error,
        });
      }
      requireNoSecret(`the answer of ${name}`, answer, request.parameters);
      return answer;
    };

  return delegate(driver, {
    provision: watch('provision', async (request) => driver.provision(request)),
    observe: watch('observe', async (request) => driver.observe(request)),
    delete: watch('delete', async (request) => driver.delete(request)),
    attach: watch('attach', async (request) => driver.attach(request)),
    detach: watch('detach', async (request) => driver.detach(request)),
    mount: watch('mount', async (request) => driver.mount(request)),
    unmount: watch('unmount', async (request) => driver.unmount(request)),
    expand: watch('expand', async (request) => driver.expand(request)),
    createSnapshot: watch('createSnapshot', async (request) => driver.createSnapshot(request)),
    observeSnapshot: watch('observeSnapshot', async (request) => driver.observeSnapshot(request)),
    deleteSnapshot: watch('deleteSnapshot', async (request) => driver.deleteSnapshot(request)),
    restore: watch('restore', async (request) => driver.restore(request)),
  });
}
