import type { Clock, Lister } from 'kedge';
import type { Node } from './kind.js';
import type { ControllerPolicy } from '../policy/policy.js';

/** Nodes without a Node object. */
export interface Missing {
  /** Missing for `nodeGoneMs`: removed from the cluster. */
  readonly gone: readonly string[];
  /** Milliseconds until the next one counts as gone; undefined if no other is missing. */
  readonly leftMs: number | undefined;
}

/**
 * Distinguishes deleted nodes from nodes that are about to register, by its own observations. A live node registers
 * within a heartbeat, so that an accidental deletion has no effect.
 */
export class GoneNodes {
  readonly #lister: Lister<Node>;
  readonly #clock: Clock;
  readonly #policy: ControllerPolicy;
  /** First observation of the absence of a node, monotonic milliseconds, by name. */
  readonly #missingSince = new Map<string, number>();

  constructor(lister: Lister<Node>, clock: Clock, policy: ControllerPolicy) {
    this.#policy = policy;
    this.#lister = lister;
    this.#clock = clock;
  }

  /**
   * Returns which of the named nodes are gone. Level-triggered: call it again after `leftMs`, and when a node changes.
   */
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

  /** Ends the absence of a node that exists again. A later absence starts from zero. */
  seen(name: string): void {
    if (this.#lister.get(name)) this.#missingSince.delete(name);
  }
}
