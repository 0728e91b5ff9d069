import { join } from 'node:path';
import { DriverError } from '../errors/errors.js';
import type { NodeHost } from '../node/node-host.js';
import { hasSerial, isUsable, scsiState } from './scsi-device.js';

/** The links by which a provider's devices are found on a node. */
export interface DeviceLinks {
  /** Usually /dev/disk/by-id. */
  readonly directory: string;
  readonly host: NodeHost;
  /** Where the kernel shows block devices; absent: /sys/class/block. */
  readonly blockDevices?: string;
}

/** A volume's device on a node, found by its link. */
export class LinkedDevice {
  readonly #links: DeviceLinks;
  readonly #serial: string;
  readonly #common: readonly string[];
  /** The link, which may not exist. */
  readonly link: string;

  /**
   * @param name the name of the link
   * @param serial the serial of the volume's device, if the device has a serial
   * @param common serials that the provider gives to many disks. A device with one of them counts as one without.
   */
  constructor(links: DeviceLinks, name: string, serial: string, common: readonly string[] = []) {
    this.#links = links;
    this.#serial = serial;
    this.#common = common;
    this.link = join(links.directory, name);
  }

  /**
   * The block device that the link leads to; undefined without one, and if the device has the serial of another volume:
   * such a link says nothing about this one.
   * @throws DriverError Unavailable if the link or the serial can't be read
   */
  async path(): Promise<string | undefined> {
    const device = await this.#linked();
    if (device === undefined) return undefined;
    return (await this.#hasOwnSerial(device)) === false ? undefined : device;
  }

  /** The block device that the link leads to, of any volume. */
  async #linked(): Promise<string | undefined> {
    const { files } = this.#links.host;
    const real = await files.realPath(this.link).catch((error: Error) => {
      throw new DriverError('Unavailable', `can't inspect ${this.link}: ${error.message}`);
    });
    if (real === undefined) return undefined;
    return (await files.kindAt(real)) === 'blockDevice' ? real : undefined;
  }

  /** Undefined for a device without a serial. */
  #hasOwnSerial(device: string): Promise<boolean | undefined> {
    return hasSerial(device, this.#serial, this.#links.blockDevices, this.#common);
  }

  /**
   * Whether a device is the volume's.
   * @throws DriverError Unavailable while the kernel still prepares the device, or if it can't be inspected
   */
  async is(device: string): Promise<boolean> {
    const { blockDevices } = this.#links;
    const state = await scsiState(device, blockDevices);
    if (state !== undefined && !isUsable(state))
      throw new DriverError('Unavailable', `${device} is in state ${state}, not running`);
    const same = await this.#hasOwnSerial(device);
    return same ?? (await this.#linked()) === device;
  }

  /** Whether a device has a serial, so that {@link is} knows it by more than its link. @throws DriverError as {@link is} */
  async hasSerial(device: string): Promise<boolean> {
    return (await this.#hasOwnSerial(device)) !== undefined;
  }

  /**
   * Whether the node shows, without a call of the provider, that the volume is attached to it.
   * @throws DriverError Unavailable if the link can't be read
   */
  async isReady(): Promise<boolean> {
    const device = await this.#linked();
    if (device === undefined) return false;
    // While the kernel still prepares the device, it is not ready.
    return this.is(device).catch(() => false);
  }

  /**
   * The error of a volume that is mounted although its device is not {@link isReady}: it must not be detached.
   * @param volume the volume as the provider names it
   * @throws DriverError Unavailable if the link can't be read
   */
  async mountedUnready(volume: string): Promise<DriverError> {
    const stays = `${volume}, which is mounted on this node, so that it stays attached`;
    const device = await this.#linked();
    const found =
      device === undefined
        ? false
        : await this.is(device).catch((error: unknown) => DriverError.from(error));
    if (found instanceof DriverError)
      return new DriverError(
        'Unavailable',
        `${found.message}; it is the device of ${stays}. Stop the instances that use the volume: then it is detached, and attached again`,
        { cause: found },
      );
    const message = found
      ? `${this.link} leads to the device of ${stays}; it was not ready before`
      : `${this.link} does not lead to the device of ${stays}; create the link again (udevadm trigger --subsystem-match=block)`;
    return new DriverError('Unavailable', message);
  }
}
