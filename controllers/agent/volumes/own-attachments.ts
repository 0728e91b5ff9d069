import type { Volume } from '../../volume/kind.js';

/** The reservations of this process. The cache of a remote store may lack them, and they must not leak. */
export class OwnAttachments {
  readonly #byClaim = new Map<string, Map<string, Volume>>();

  add(volume: Volume, claim: string): void {
    const held = this.#byClaim.get(claim) ?? new Map<string, Volume>();
    this.#byClaim.set(claim, held.set(volume.metadata.uid, volume));
  }

  remove({ metadata }: Volume, claim: string): void {
    const held = this.#byClaim.get(claim);
    held?.delete(metadata.uid);
    if (held?.size === 0) this.#byClaim.delete(claim);
  }

  claimsOf({ metadata }: Volume): readonly string[] {
    return [...this.#byClaim].flatMap(([claim, held]) => (held.has(metadata.uid) ? [claim] : []));
  }

  /** The cached volumes, plus uncached reservations of a claim or of all claims. */
  with(cached: readonly Volume[], claim?: string): readonly Volume[] {
    const held = claim === undefined ? [...this.#byClaim.values()] : [this.#byClaim.get(claim)];
    const own = held.flatMap((volumes) => [...(volumes ?? [])]);
    if (own.length === 0) return cached;
    return [...new Map([...own, ...cached.map((v) => [v.metadata.uid, v] as const)]).values()];
  }
}
