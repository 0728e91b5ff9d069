import type { ImageProgress } from '../engine/engine-images.js';

const layersMax = 1_000;

/** Progress of a pull over all its layers. */
export class PullProgress {
  readonly #name: string;
  readonly #layers = new Map<string, { readonly current: number; readonly total: number }>();
  #last = '';

  constructor(name: string) {
    this.#name = name;
  }

  /** The text to report after a message; undefined if it is unchanged. */
  update({ layer, text, currentBytes, totalBytes }: ImageProgress): string | undefined {
    if (text === 'Downloading' && totalBytes > 0 && this.#layers.size < layersMax)
      this.#layers.set(layer, { current: currentBytes, total: totalBytes });
    let current = 0;
    let total = 0;
    for (const size of this.#layers.values()) {
      current += size.current;
      total += size.total;
    }
    // Rounded down to steps of 10 %, because each text is written into the status of the instance.
    const percent = total === 0 ? 0 : Math.floor((current / total) * 10) * 10;
    const report = `pulling image ${this.#name}${total === 0 ? '' : `, ${percent} %`}`;
    if (report === this.#last) return undefined;
    this.#last = report;
    return report;
  }
}
