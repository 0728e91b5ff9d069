import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { DriverError } from '../contract/errors.js';
import { isAbsence } from '../node/node-host.js';

/** Where the kernel shows block devices. */
const blockDevices = '/sys/class/block';

async function shown(path: string): Promise<Buffer | undefined> {
  return readFile(path).catch((error: NodeJS.ErrnoException) => {
    // EINVAL, EIO: a page that the device does not have.
    if (isAbsence(error) || error.code === 'EINVAL' || error.code === 'EIO') return undefined;
    throw new DriverError('Unavailable', `can't read ${path}: ${error.message}`, { cause: error });
  });
}

/** The state of a SCSI device, `running` when it can be used; undefined for other devices. */
export async function scsiState(
  device: string,
  directory = blockDevices,
): Promise<string | undefined> {
  return (await shown(join(directory, basename(device), 'device', 'state')))
    ?.toString('utf8')
    .trim();
}

/**
 * Whether a SCSI device has this serial. The link to a volume's device is named by the serial, but may still lead to a
 * device that now belongs to another volume. Undefined if the device has no serial.
 */
export async function hasSerial(
  device: string,
  serial: string,
  directory = blockDevices,
): Promise<boolean | undefined> {
  const pages = await Promise.all(
    ['vpd_pg80', 'vpd_pg83'].map((page) =>
      shown(join(directory, basename(device), 'device', page)),
    ),
  );
  const there = pages.filter((page) => page !== undefined);
  if (there.length === 0) return undefined;
  return there.some((page) =>
    page
      .toString('latin1')
      .split(/[^!-~]+/)
      .some((word) => word === serial || word.endsWith(`_${serial}`)),
  );
}
