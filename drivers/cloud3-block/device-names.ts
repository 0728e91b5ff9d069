import { DriverError } from '@kedge/driver-sdk';
import type { ProviderClock } from '@kedge/driver-sdk/provider';
import type { CloudInstance } from './api.js';

const letters = [...'abcdefghijklmnopqrstuvwxyz'];

/** The device names that EC2 permits and images do not use for their own disks: /dev/xvdaa to /dev/xvddx. */
const names: readonly string[] = letters
  .slice(0, 4)
  .flatMap((first) => letters.map((second) => `/dev/xvd${first}${second}`))
  .filter((name) => name <= '/dev/xvddx');

/** Time for which a chosen name is not chosen again, milliseconds: the record of the instance may lack it. */
const chosenMs = 60_000;

/** Chooses the device names of attachments. A name that was just used is not used again at once. */
export class DeviceNames {
  readonly #clock: ProviderClock;
  /** Monotonic times until which names are reserved, by instance. */
  readonly #chosen = new Map<string, Map<string, number>>();

  constructor(clock: ProviderClock) {
    this.#clock = clock;
  }

  /**
   * Returns a free device name of an instance, and reserves it for a minute.
   * @throws DriverError QuotaExceeded if all names are in use
   */
  next({ id, devices }: CloudInstance): string {
    const now = this.#clock.monotonic();
    const chosen = this.#chosen.get(id) ?? new Map<string, number>();
    for (const [name, until] of chosen) if (until <= now) chosen.delete(name);
    const free = names.find((name) => !devices.includes(name) && !chosen.has(name));
    if (free === undefined)
      throw new DriverError(
        'QuotaExceeded',
        `instance ${id} has no free device name; move workloads to another node`,
        {
          retryElsewhere: true,
        },
      );
    chosen.set(free, now + chosenMs);
    this.#chosen.set(id, chosen);
    return free;
  }
}
