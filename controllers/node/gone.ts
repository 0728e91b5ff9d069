import type { Clock, Lister } from 'kedge';
import type { Node } from './kind.js';
import type { ControllerPolicy } from '../policy/policy.js';

/** Nodes of a set whose objects are missing. */
export interface Missing {
  /** Missing for `nodeGoneMs`: taken out of the cluster by somebody. */
  readonly gone: readonly string[];
  /** Until the next one is gone; undefined when no other is missing. */
  readonly leftMs: number | undefined;
}

/**
 * Tells nodes that were deleted from those that are about to make themselves known, by what it saw itself.
 * A node that is alive does so within a heartbeat, so a deletion by mistake takes nothing from it.
 */
export class GoneNodes {
  readonly #lister: Lister<Node>;
  readonly #clock: Clock;
  readonly #policy: ControllerPolicy;
  /** Monotonic milliseconds, by name. */
  readonly #missingSince = new Map<string, number>();

  constructor(lister: Lister<Node>, clock: Clock, policy: ControllerPolicy) {
    this.#policy = policy;
    this.#lister = lister;
    this.#clock = clock;
  }

  /** Level-triggered: has to be asked again after `leftMs`, and when a node changes. */
  among(names: Iterable<string>): Missing {
    const now = this.#clock.monotonic();
    const gone: string[] = [];
    let leftMs: number | undefined;
    for (const name of new Set(names)) {
      if (this.#lister.get(name)) {
        this.#missingSince.delete(name);
        continue;
      }
      const since = this.#missingSince.get(name) ?? now;
      this.#missingSince.set(name, since);
      const left = since + this.#policy.nodeGoneMs - now;
      if (left <= 0) gone.push(name);
      else leftMs = Math.min(leftMs ?? left, left);
    }
    return { gone, leftMs };
  }

  /** A node that is there again is not gone, also when it goes once more. */
  seen(name: string): void {
    if (this.#lister.get(name)) this.#missingSince.delete(name);
  }
}
