import { failedPrecondition } from '../base/index.js';
import type { ObjectStore } from '../store/index.js';

const running = new WeakMap<ObjectStore, Set<string>>();

/**
 * Notes that a candidate takes part, until it is disposed of. Two under one identity can't be told
 * apart: each would wait for the other's lease to end, and `leader` would name neither.
 * @throws StatusError FailedPrecondition, reason IdentityInUse, when this process has one already
 */
export function enrol(store: ObjectStore, name: string, identity: string): Disposable {
  const candidates = running.get(store) ?? new Set<string>();
  running.set(store, candidates);
  const key = JSON.stringify([name, identity]);
  if (candidates.has(key))
    throw failedPrecondition(
      'IdentityInUse',
      `a candidate "${identity}" for lease "${name}" runs in this process already; give each elector an identity of its own`,
    );
  candidates.add(key);
  return { [Symbol.dispose]: () => void candidates.delete(key) };
}
