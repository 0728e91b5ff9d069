import { failedPrecondition } from '../base/index.js';
import type { ObjectStore } from '../store/index.js';

const running = new WeakMap<ObjectStore, Set<string>>();

/**
 * Registers a candidate until the result is disposed. Two candidates with one identity are indistinguishable: each
 * would wait for the other's lease to expire, and `leader` would be ambiguous.
 * @throws StatusError FailedPrecondition, reason IdentityInUse, if this process already has one
 */
export function enrol(store: ObjectStore, name: string, identity: string): Disposable {
  const candidates = running.get(store) ?? new Set<string>();
  running.set(store, candidates);
  const key = JSON.stringify([name, identity]);
  if (candidates.has(key))
    throw failedPrecondition(
      'IdentityInUse',
      `candidate "${identity}" for lease "${name}" already runs in this process; use a unique identity per elector`,
    );
  candidates.add(key);
  return { [Symbol.dispose]: () => void candidates.delete(key) };
}
