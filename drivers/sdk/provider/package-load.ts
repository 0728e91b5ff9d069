import { setImmediate as turn } from 'node:timers/promises';
import type { Driver } from '../contract/driver.js';

/**
 * Runs steps that each take long, with a turn of the event loop before each of them, so that other work runs between
 * them. A step that fails is left out: what needs its result fails later with its own error.
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

/** Makes work run once, also for callers at the same time. After a failure it runs again. */
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
 * Loads the package of a driver before its calls of the provider, in turns of the event loop. A call whose package is
 * missing is made nevertheless: it may need none, and else reports it.
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
