import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { DriverError } from '../errors/errors.js';
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

/** The states of a usable device: of SCSI disks, and of the controllers of NVMe disks. */
const usable: readonly string[] = ['running', 'live'];

/** Whether a SCSI or NVMe device in a state of {@link scsiState} can be used. */
export function isUsable(state: string): boolean {
  return usable.includes(state);
}

/**
 * The state of a SCSI or NVMe device; undefined for other devices.
 * @throws DriverError Unavailable if it can't be read
 */
export async function scsiState(
  device: string,
  directory = blockDevices,
): Promise<string | undefined> {
  return (await shown(join(directory, basename(device), 'device', 'state')))
    ?.toString('utf8')
    .trim();
}

const headerBytes = 4;
/** Code sets of texts in page 0x83: ASCII and UTF-8. */
const textCodes: ReadonlySet<number> = new Set([2, 3]);

/** The serial in page 0x80. Its length comes before it, and may be a byte that looks like a character. */
function serialOf(page: Buffer): readonly string[] {
  if (page.length < headerBytes) return [];
  return [page.toString('latin1', headerBytes, headerBytes + page.readUInt16BE(2))];
}

/** The texts in page 0x83, each with a header that ends with its length. */
function designatorsOf(page: Buffer): readonly string[] {
  const found: string[] = [];
  for (let at = headerBytes; at + headerBytes <= page.length; ) {
    const begin = at + headerBytes;
    const end = begin + page.readUInt8(at + 3);
    if (textCodes.has(page.readUInt8(at) & 0x0f)) found.push(page.toString('latin1', begin, end));
    at = end;
  }
  return found;
}

/** The serial of an NVMe controller, padded with spaces. */
function nvmeSerialOf(text: Buffer): readonly string[] {
  return [text.toString('latin1')];
}

const pages = { vpd_pg80: serialOf, vpd_pg83: designatorsOf, serial: nvmeSerialOf } as const;

/**
 * Whether a SCSI or NVMe device has this serial. The link to a volume's device is named by the serial, but may still
 * lead to a device that now belongs to another volume. Undefined if the device has no serial, or only one of `common`.
 * @param common serials that the provider gives to many disks, so that they identify none
 * @throws DriverError Unavailable if the serial can't be read
 */
export async function hasSerial(
  device: string,
  serial: string,
  directory = blockDevices,
  common: readonly string[] = [],
): Promise<boolean | undefined> {
  const texts = await Promise.all(
    Object.entries(pages).map(async ([name, textsOf]) => {
      const page = await shown(join(directory, basename(device), 'device', name));
      return page && textsOf(page);
    }),
  );
  const there = texts.filter((each) => each !== undefined);
  if (there.length === 0) return undefined;
  const words = there.flat().flatMap((text) => text.split(/[^!-~]+/).filter((word) => word !== ''));
  if (words.length > 0 && words.every((word) => common.includes(word))) return undefined;
  return words.some((word) => word === serial || word.endsWith(`_${serial}`));
}
