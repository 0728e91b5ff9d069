import { type BlockAttachRequest, DriverError } from '@kedge/driver-sdk';
import type { ProviderClock } from '@kedge/driver-sdk/provider';
import type { Cloud2Api } from './api.js';
import { callerOf } from './requests.js';

/** Volumes that the provider reports as attached, and whose devices have not appeared on their node. */
export class UnseenDevices {
  readonly #api: Cloud2Api;
  readonly #clock: ProviderClock;
  /** The monotonic time of the first such observation, by uid of the volume. */
  readonly #since = new Map<string, number>();

  constructor(api: Cloud2Api, clock: ProviderClock) {
    this.#api = api;
    this.#clock = clock;
  }

  /** Records whether the volume was observed as attached without its device. */
  observed(uid: string, isUnseen: boolean): void {
    if (!isUnseen) this.#since.delete(uid);
    else if (!this.#since.has(uid)) this.#since.set(uid, this.#clock.monotonic());
  }

  /** Whether each observation in the last `ms` milliseconds found the volume attached without its device. */
  isOverdue(uid: string, ms: number): boolean {
    const since = this.#since.get(uid);
    return since !== undefined && this.#clock.monotonic() - since >= ms;
  }

  /**
   * Detaches the volume. The detach is recorded as an operation, so that the next attach waits for its end: the device
   * may appear meanwhile. One that the provider refused leaves no record.
   */
  async detach(request: BlockAttachRequest): Promise<void> {
    const { operations, handle } = request;
    const key = crypto.randomUUID();
    await operations.set('detach', key);
    const id = await this.#api
      .startAction(callerOf(request), handle, 'detach')
      .catch(async (thrown: unknown) => {
        const { kind } = DriverError.from(thrown);
        const isUnknown = kind === 'Timeout' || kind === 'Unavailable' || kind === 'Internal';
        if (!isUnknown) await operations.clear('detach');
        throw thrown;
      });
    await operations.set('detach', `${key} ${id}`);
    await operations.clear('attach');
    this.#since.delete(request.volume.uid);
  }
}
