import { open } from 'node:fs/promises';
import { deviceSize } from '../block/block-device.js';
import { runCommand } from '../node/run-command.js';

/** Size of a block device in bytes. */
export function deviceBytes(device: string): Promise<bigint> {
  return deviceSize(runCommand, device, new AbortController().signal);
}

/** The first bytes of a device. */
export async function deviceHead(device: string, length = 65_536): Promise<Buffer> {
  const file = await open(device, 'r');
  try {
    const bytes = Buffer.alloc(length);
    const { bytesRead } = await file.read(bytes, 0, length, 0);
    return bytes.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Writes durably at the start of a device. */
export async function writeHead(device: string, bytes: Buffer): Promise<void> {
  const file = await open(device, 'r+');
  try {
    await file.write(bytes, 0, bytes.length, 0);
    await file.sync();
  } finally {
    await file.close();
  }
}
