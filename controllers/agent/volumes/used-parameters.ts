import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { jsonEqual, type Logger, messageOf } from 'kedge';
import { DriverError, makeDirectory, type Parameters, replaceFile } from '@kedge/driver-sdk';
import type { Sealer } from '../../secret/index.js';

/** The storage of used parameters, which outlives the daemon. */
export interface UsedParametersOptions {
  readonly directory: string;
  readonly sealer: Sealer;
  readonly logger: Logger;
}

/**
 * The resolved parameters of the mounted volumes of this node that have confidential ones, as the fallback of a
 * teardown if the secrets can't be read any more (specification 5.3.2). They are sealed on disk to survive a kill of
 * the daemon; without a directory they are in memory only.
 */
export class UsedParameters {
  readonly #options: UsedParametersOptions | undefined;
  readonly #known = new Map<string, Parameters>();

  constructor(options?: UsedParametersOptions) {
    this.#options = options;
  }

  /**
   * Stores the parameters before a volume is used. With a directory they are durable once it resolves.
   * @throws DriverError Unavailable if the write fails: the volume must not be attached then
   */
  async keep(uid: string, parameters: Parameters): Promise<void> {
    if (jsonEqual(this.#known.get(uid), parameters)) return;
    if (this.#options) await this.#write(this.#options, uid, parameters);
    this.#known.set(uid, parameters);
  }

  async #write(
    { directory, sealer }: UsedParametersOptions,
    uid: string,
    parameters: Parameters,
  ): Promise<void> {
    const sealed = sealer.seal(JSON.stringify(parameters), placeOf(uid));
    try {
      await makeDirectory(directory, 0o700);
      await replaceFile(join(directory, uid), sealed);
    } catch (cause) {
      throw new DriverError(
        'Unavailable',
        `the parameters of the mount can't be stored in ${directory}: ${messageOf(cause)}`,
        { cause },
      );
    }
  }

  /** The stored parameters of a volume; undefined if there are none, or if they can't be unsealed. */
  async find(uid: string): Promise<Parameters | undefined> {
    const known = this.#known.get(uid);
    if (known || !this.#options) return known;
    const { directory, sealer, logger } = this.#options;
    let sealed: string;
    try {
      sealed = await readFile(join(directory, uid), 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
    try {
      const parameters = JSON.parse(sealer.open(sealed, placeOf(uid))) as Parameters;
      this.#known.set(uid, parameters);
      return parameters;
    } catch (error) {
      logger.warn('the parameters of a mount could not be read', { uid, error: messageOf(error) });
      return undefined;
    }
  }

  async forget(uid: string): Promise<void> {
    this.#known.delete(uid);
    if (this.#options) await rm(join(this.#options.directory, uid), { force: true });
  }
}

function placeOf(uid: string): string {
  return `mounted/${uid}`;
}
