/** A value, or the promise of one. */
export type Later<T> = T | Promise<T>;

const value = Symbol('known value');

interface Known<T> extends Promise<T> {
  [value]?: T;
}

/**
 * A resolved promise whose value {@link after} reads at once. A call of the API takes dozens of steps of which few wait
 * for something; each `await` would cost it a promise and a frame.
 */
export function known<T>(given: T): Promise<T> {
  const promise: Known<T> = Promise.resolve(given);
  promise[value] = given;
  return promise;
}

/** Whether a value has to be awaited: a promise, or any other object with a method `then`. */
export function isPromise<T>(given: Later<T>): given is Promise<T> {
  return typeof (given as { readonly then?: unknown } | null | undefined)?.then === 'function';
}

/** The value of a promise of {@link known}; other promises, and values, are returned unchanged. */
function knownOf<T>(given: Later<T>): Later<T> {
  return isPromise(given) && value in given ? ((given as Known<T>)[value] as T) : given;
}

/**
 * Calls `next` with a value: at once if it is known, otherwise when its promise resolves. Throws what `next` throws.
 */
export function after<T, R>(given: Later<T>, next: (value: T) => Later<R>): Later<R> {
  const found = knownOf(given);
  return isPromise(found) ? Promise.resolve(found).then(next) : next(found);
}

/** Calls `recover` with the error that `work` throws, or with which its promise rejects. */
export function recovered<T>(
  work: () => Later<T>,
  recover: (error: unknown) => Later<T>,
): Later<T> {
  try {
    const found = knownOf(work());
    return isPromise(found) ? Promise.resolve(found).catch(recover) : found;
  } catch (error) {
    return recover(error);
  }
}

/** All values of several promises: at once if all are known. */
export function together<T>(promises: readonly Promise<T>[]): Later<readonly T[]> {
  const found = promises.map(knownOf);
  return found.some(isPromise) ? Promise.all(found) : (found as readonly T[]);
}

/** The result of `work` as a promise, which rejects with what `work` throws. */
export function promised<T>(work: () => Later<T>): Promise<T> {
  try {
    const found = work();
    return isPromise(found) ? found : known(found);
  } catch (error) {
    return rejected(error);
  }
}

// eslint-disable-next-line @typescript-eslint/require-await -- its error is a rejection
async function rejected(error: unknown): Promise<never> {
  throw error;
}
