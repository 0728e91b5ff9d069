import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { jsonEqual, type Logger, messageOf } from 'kedge';
import type { Parameters } from '@kedge/driver-sdk';
import type { Sealer } from '../secret/index.js';

/** Where used parameters outlive the daemon. */
export interface UsedParametersOptions {
  readonly directory: string;
  readonly sealer: Sealer;
  readonly logger: Logger;
}

/**
 * The parameters that each volume of this node was mounted with, secrets resolved: what a teardown falls
 * back to when they can't be looked up any more (specification 5.3.2). Sealed on disk, so that they are
 * there after a kill of the daemon too; without a directory in memory only.
 */
export class UsedParameters {
  readonly #options: UsedParametersOptions | undefined;
  readonly #known = new Map<string, Parameters>();

  constructor(options?: UsedParametersOptions) {
    this.#options = options;
  }

  /** Notes what a volume is used with. @param wanted the same with references not resolved */
  async keep(uid: string, parameters: Parameters, wanted: Parameters): Promise<void> {
    if (jsonEqual(this.#known.get(uid), parameters)) return;
    this.#known.set(uid, parameters);
    // Without anything confidential they can always be had again.
    if (!this.#options || jsonEqual(parameters, wanted)) return;
    const { directory, sealer, logger } = this.#options;
    const file = join(directory, uid);
    const sealed = sealer.seal(JSON.stringify(parameters), placeOf(uid));
    try {
      await mkdir(directory, { recursive: true, mode: 0o700 });
      await writeFile(`${file}.new`, sealed, { mode: 0o600 });
      await rename(`${file}.new`, file);
    } catch (error) {
      // The mount goes on: it is only missed if the secret goes, and the daemon dies, before the unmount.
      logger.warn('the parameters of a mount could not be kept', {
        uid,
        error: messageOf(error),
      });
    }
  }

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
