import { DriverError } from '../errors/errors.js';
import { onNode } from '../errors/on-node.js';
import { describeHolders, type HeldVolume, type Holder } from '../node/holders.js';
import type { NodeHost } from '../node/node-host.js';
import { thisNode } from '../node/this-node.js';

/** Maximum wait for the mount namespaces of ended processes, which the kernel removes with a delay. */
const releaseMsMax = 1_000;
const releasePauseMs = 50;

/**
 * Waits until no mount namespace has the file system of a device mounted.
 * @throws DriverError InUse naming the holder
 */
export async function requireReleased(
  host: NodeHost,
  volume: HeldVolume & { readonly device: string },
): Promise<void> {
  const { device } = volume;
  for (let waited = 0; await host.hasFileSystem(device); waited += releasePauseMs) {
    if (waited >= releaseMsMax) throw inUse(device, await host.holders.holders(volume));
    await host.pause(releasePauseMs);
  }
}

/** The refusal of a device in use. */
export function inUse(device: string, found: readonly Holder[]): DriverError {
  return new DriverError(
    'InUse',
    `${device} is in use, ${describeHolders(found)}; it stays attached until it is released`,
  );
}

/**
 * Refuses a device in use, which must not be detached: mounted in any mount namespace, used as swap, or part of
 * another kernel device. Waits a moment for mounts of other namespaces to end.
 * @throws DriverError InUse naming the holder
 */
export function requireUnused(device: string, host: NodeHost = thisNode): Promise<void> {
  return onNode(`find the users of ${device}`, () => requireNoUsers(device, host));
}

async function requireNoUsers(device: string, host: NodeHost): Promise<void> {
  const number = await host.deviceNumber(device).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (number === undefined) return;
  const found = await host.holders.holders({ device });
  // A mount in another namespace may end soon: wait for it.
  if (found.some((holder) => holder.type !== 'mount' || holder.here)) throw inUse(device, found);
  await requireReleased(host, { device });
}
