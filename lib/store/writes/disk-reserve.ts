import { type Logger, messageOf } from '../../base/index.js';
import type { Reserve } from '../engine/engine.js';

/** Options of a {@link DiskReserve}. */
export interface DiskReserveOptions {
  readonly reserve: Reserve;
  readonly wholeBytes: number;
  /** Bytes that stay free for other programs while the reserve is allocated. */
  readonly keepFreeBytes: number;
  /** Location of the reserve, for messages. */
  readonly location: string;
  readonly logger: Logger;
}

/** Keeps the reserve of a store at its target size, and logs when it is smaller. */
export class DiskReserve {
  readonly #options: DiskReserveOptions;
  #heldBytes = 0;
  #laying: Promise<boolean> | undefined;
  #closed = false;
  /** Whether the reserve was complete at the last report; undefined before the first report. */
  #reported: boolean | undefined;

  constructor(options: DiskReserveOptions) {
    this.#options = options;
  }

  /** Bytes of the reserve at the last measurement. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  get isWhole(): boolean {
    return this.#heldBytes >= this.#options.wholeBytes;
  }

  /** Measures the allocated bytes, because other programs may remove files. */
  async measure(): Promise<void> {
    this.#heldBytes = await this.#options.reserve.held();
  }

  /** Allocates missing pieces while there is enough free space. Resolves to whether any was allocated. */
  lay(): Promise<boolean> {
    if (this.isWhole || this.#closed) return Promise.resolve(false);
    this.#laying ??= this.#layPieces().finally(() => (this.#laying = undefined));
    return this.#laying;
  }

  /**
   * Releases pieces until `freeBytes` are free or none is left.
   * @returns whether any was released
   */
  async release(freeBytes: number): Promise<boolean> {
    const { reserve, logger } = this.#options;
    try {
      const bytes = await reserve.release(freeBytes);
      await this.measure();
      if (bytes > 0) logger.info('part of the reserve was released', { ...this.#fields(), bytes });
      return bytes > 0;
    } catch (error) {
      // The write may succeed anyway; otherwise the store reopens itself.
      const fields = { ...this.#fields(), error: messageOf(error) };
      logger.warn('the reserve could not be released', fields);
      return false;
    }
  }

  /** Resolves when all writes have ended. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#laying;
  }

  /**
   * Allocates pieces; returns whether any was allocated. Never rejects, because the store also works without a reserve.
   */
  async #layPieces(): Promise<boolean> {
    const { reserve, wholeBytes, keepFreeBytes, logger } = this.#options;
    let laid = false;
    try {
      while (!this.#closed && (await reserve.layPiece(wholeBytes, keepFreeBytes))) laid = true;
      await this.measure();
    } catch (error) {
      logger.debug('a part of the reserve could not be allocated', { error: messageOf(error) });
    }
    if (!this.#closed) this.#report();
    return laid;
  }

  #report(): void {
    if (this.#reported === this.isWhole) return;
    const first = this.#reported === undefined;
    this.#reported = this.isWhole;
    const { logger } = this.#options;
    const { heldBytes: _, ...fields } = this.#fields();
    if (!this.isWhole)
      logger.warn(
        'the reserve is smaller than configured: when the disk is full, deletions and a start may be refused; free disk space',
        this.#fields(),
      );
    else if (!first) logger.info('the reserve is complete again', fields);
  }

  #fields(): Readonly<Record<string, string | number>> {
    const { location, wholeBytes } = this.#options;
    return { directory: location, heldBytes: this.#heldBytes, reserveBytes: wholeBytes };
  }
}
