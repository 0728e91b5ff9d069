import { type Logger, messageOf } from '../../base/index.js';
import type { Reserve } from '../engine/engine.js';

/** What a {@link ReserveKeeper} keeps, and how much of the disk it leaves. */
export interface ReserveKeeperOptions {
  readonly reserve: Reserve;
  readonly wholeBytes: number;
  /** Free bytes that others find on the disk while the reserve is laid. */
  readonly keepFreeBytes: number;
  /** Where it lies, for messages. */
  readonly location: string;
  readonly logger: Logger;
}

/** Keeps the reserve of a store as large as it should be, and tells people when it is not. */
export class ReserveKeeper {
  readonly #options: ReserveKeeperOptions;
  #heldBytes = 0;
  #laying: Promise<boolean> | undefined;
  #closed = false;
  /** Whether it was whole when last told; undefined before the first time. */
  #told: boolean | undefined;

  constructor(options: ReserveKeeperOptions) {
    this.#options = options;
  }

  /** Bytes held when last measured. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  get isWhole(): boolean {
    return this.#heldBytes >= this.#options.wholeBytes;
  }

  /** Looks how much is held, since anybody may remove files. */
  async measure(): Promise<void> {
    this.#heldBytes = await this.#options.reserve.held();
  }

  /** Lays what is missing, as far as there is room. Resolves to whether anything was laid. */
  lay(): Promise<boolean> {
    if (this.isWhole || this.#closed) return Promise.resolve(false);
    this.#laying ??= this.#layPieces().finally(() => (this.#laying = undefined));
    return this.#laying;
  }

  /** Gives back so much that `freeBytes` are free. @returns whether anything was given back */
  async giveBack(freeBytes: number): Promise<boolean> {
    const { reserve, logger } = this.#options;
    try {
      const bytes = await reserve.release(freeBytes);
      await this.measure();
      if (bytes > 0)
        logger.info('part of the reserve was given back', { ...this.#fields(), bytes });
      return bytes > 0;
    } catch (error) {
      // The write may find room all the same; where it does not, the store reopens itself.
      const fields = { ...this.#fields(), error: messageOf(error) };
      logger.warn('the reserve could not be given back', fields);
      return false;
    }
  }

  /** Resolves when nothing is written any more. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#laying;
  }

  /** Never rejects: without a reserve the store serves as it did before there was one. */
  async #layPieces(): Promise<boolean> {
    const { reserve, wholeBytes, keepFreeBytes, logger } = this.#options;
    let laid = false;
    try {
      while (!this.#closed && (await reserve.layPiece(wholeBytes, keepFreeBytes))) laid = true;
      await this.measure();
    } catch (error) {
      logger.debug('a part of the reserve was not laid', { error: messageOf(error) });
    }
    if (!this.#closed) this.#tell();
    return laid;
  }

  #tell(): void {
    if (this.#told === this.isWhole) return;
    const first = this.#told === undefined;
    this.#told = this.isWhole;
    const { logger } = this.#options;
    const { heldBytes: _, ...fields } = this.#fields();
    if (!this.isWhole)
      logger.warn(
        'the disk has no room for the whole reserve: when it is full, deletions and a start may be refused; make room',
        this.#fields(),
      );
    else if (!first) logger.info('the reserve is whole again', fields);
  }

  #fields(): Readonly<Record<string, string | number>> {
    const { location, wholeBytes } = this.#options;
    return { directory: location, heldBytes: this.#heldBytes, reserveBytes: wholeBytes };
  }
}
