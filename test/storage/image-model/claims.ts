import { claimOf, type Instance, type Volume } from '@kedge/controllers';
import type { Machine } from './machine.js';

interface Bound {
  readonly instance: Instance;
  readonly volume: Volume;
}

/** Instances of a node with volumes, which are staged and released like by the agent: retried until it is done. */
export class Claims {
  readonly #machine: Machine;
  readonly #note: (line: string) => void;
  readonly #bound = new Map<string, Bound>();
  readonly #leaving = new Set<string>();

  constructor(machine: Machine, note: (line: string) => void) {
    this.#machine = machine;
    this.#note = note;
  }

  /** Claims that require a volume, or still have one. */
  get names(): readonly string[] {
    return [...this.#bound.keys()];
  }

  /** An instance without a volume claims one. */
  async bind(instance: Instance, volume: Volume): Promise<void> {
    const claim = claimOf(instance);
    if (this.#bound.has(claim)) return;
    this.#bound.set(claim, { instance, volume });
    await this.#ensure(claim);
  }

  /** The workload starts after its volume is mounted. */
  async #ensure(claim: string): Promise<void> {
    const bound = this.#bound.get(claim);
    if (!bound) return;
    const { instance, volume } = bound;
    const mount = { name: 'data', mountPath: '/data', claim: { name: volume.name } };
    const outcome = await this.#machine.ensure(instance, mount);
    if (this.#bound.get(claim) !== bound || this.#leaving.has(claim)) return;
    if (outcome.type === 'mounted')
      this.#machine.workloads.start(claim, volume.metadata.uid, outcome.source);
    else this.#note(`  ${volume.name} for ${instance.name}: ${outcome.message}`);
  }

  /** The workload stops first. */
  async release(claim: string): Promise<void> {
    const bound = this.#bound.get(claim);
    if (!bound) return;
    this.#leaving.add(claim);
    await this.#machine.workloads.stop(claim);
    if (!(await this.#machine.letGo(claim))) return;
    // Released repeatedly: meanwhile the claim may have another volume.
    if (this.#bound.get(claim) !== bound) return;
    this.#bound.delete(claim);
    this.#leaving.delete(claim);
  }

  /** The retried requests by claim. */
  pending(): readonly (() => Promise<void>)[] {
    return this.names.map(
      (claim) => () => (this.#leaving.has(claim) ? this.release(claim) : this.#ensure(claim)),
    );
  }
}
