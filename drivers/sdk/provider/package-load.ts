import { setImmediate as turn } from 'node:timers/promises';
import type { Driver } from '../contract/driver.js';

/**
 * Runs long synchronous steps with a turn of the event loop before each of them, so that other work runs between them.
 * Ignores the error of a step: the code that needs its result reports an error of its own later.
 */
export async function inTurns(steps: readonly (() => unknown)[]): Promise<void> {
  for (const step of steps) {
    await turn();
    try {
      step();
    } catch {
      // The main module loads what is missing, or reports it.
    }
  }
}

/** Wraps work so that it runs once. Concurrent calls share the run, and the next call after a failure runs it again. */
export function once<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= work().catch((error: unknown) => {
      running = undefined;
      throw error;
    });
    return running;
  };
}

/**
 * Loads the package of a driver before each call of the driver that may call the provider. The call is made even if the
 * package can't be loaded: it may not need the package, and otherwise reports the failure.
 */
export function loadedFirst(driver: Driver, load: () => Promise<unknown>): Driver {
  const first =
    <Q, R>(call: (request: Q) => Promise<R>) =>
    async (request: Q): Promise<R> => {
      await load().catch(() => undefined);
      return call(request);
    };
  const { check, orphans, find } = driver;
  return {
    ...driver,
    load: async () => {
      await load();
    },
    ...(check ? { check: first(check) } : {}),
    ...(orphans ? { orphans: first(orphans) } : {}),
    ...(find ? { find: first(find) } : {}),
    provision: first((request) => driver.provision(request)),
    observe: first((request) => driver.observe(request)),
    delete: first((request) => driver.delete(request)),
    attach: first((request) => driver.attach(request)),
    detach: first((request) => driver.detach(request)),
    expand: first((request) => driver.expand(request)),
    createSnapshot: first((request) => driver.createSnapshot(request)),
    observeSnapshot: first((request) => driver.observeSnapshot(request)),
    deleteSnapshot: first((request) => driver.deleteSnapshot(request)),
    restore: first((request) => driver.restore(request)),
  };
}
