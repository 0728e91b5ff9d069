import { dirname } from 'node:path';
import { DriverError } from '../errors/errors.js';
import { shownName } from '../errors/shown-name.js';
import { describeHolders, type Holder } from '../node/holders.js';
import type { NodeHost } from '../node/node-host.js';

/** Maximum number of reads while only other mount namespaces use a device: those of ended processes are removed late. */
const readsMax = 4;
const readPauseMs = 250;

/** The facts about the device of a mount. */
export interface DeviceClaim {
  /** Whether the volume may be new, so that no one else has a reason to use its device. */
  readonly mayFormat: boolean;
  /** Whether only the link of the volume names the device: it has no serial. */
  readonly isLinkAlone: boolean;
}

/** Whether a mount may be of another volume or user, by its path in this namespace. */
function isOther(at: string, target: string, mayFormat: boolean): boolean {
  const root = dirname(target);
  if (dirname(at) === root) return at !== target;
  return mayFormat && !at.startsWith(`${root}/`);
}

/**
 * Whether a holder may be another volume or user. The paths of another mount namespace may be below the directory
 * where it has the root of this one.
 */
function isForeign(
  holder: Holder,
  target: string,
  { mayFormat, isLinkAlone }: DeviceClaim,
): boolean {
  if (holder.type !== 'mount') return mayFormat;
  const { here, pid, target: at } = holder;
  const start = here ? 0 : Math.max(0, at.lastIndexOf(`${dirname(target)}/`));
  // kedged has a mount namespace of its own: other users are in that of the machine.
  const isOfMachine = isLinkAlone && !here && pid === 1;
  return isOther(at.slice(start), target, mayFormat || isOfMachine);
}

/**
 * Refuses a device that another volume has mounted, beside `target`. A device without a serial is only known by its
 * link, which may be wrong. Before the volume is formatted no other program has a reason to use its device, so it is
 * refused wherever it is mounted, and while it is swap or part of another device of the kernel. Later an operator may
 * inspect it; a device that is known by its link alone is refused while it is mounted writable elsewhere in this mount
 * namespace, or at all elsewhere in that of process 1, if that is another one or can't be read. Bind mounts of the
 * volume are below the directory of `target`. Mounts of file systems other than ext4 and xfs in other mount namespaces
 * are not searched: their content is refused later. Later mounts do not detect what is mounted only in a namespace
 * without a process.
 * @throws DriverError InUse that names the user of the device
 */
export async function requireUnmounted(
  host: NodeHost,
  device: string,
  target: string,
  claim: DeviceClaim,
): Promise<void> {
  const { mayFormat } = claim;
  await requireUnmountedHere(host, device, target, claim);
  for (let reads = 1; ; reads += 1) {
    const isUsed = await host.hasFileSystem(device);
    // Nothing else reads all mount namespaces at a start: that takes long on a node with many workloads.
    if (!isUsed && !mayFormat) return;
    const found = await host.holders.holders({ device });
    const foreign = found.filter((holder) => isForeign(holder, target, claim));
    const isHidden = mayFormat && isUsed && found.length === 0;
    if (foreign.length === 0 && !isHidden) return;
    const mayEnd = foreign.every((holder) => holder.type === 'mount' && !holder.here);
    if (!mayEnd || reads >= readsMax) throw refusal(device, foreign, mayFormat);
    await host.pause(readPauseMs);
  }
}

function refusal(device: string, foreign: readonly Holder[], mayFormat: boolean): DriverError {
  const when = mayFormat
    ? 'in use before the first mount of this volume'
    : 'mounted for another volume or user';
  return new DriverError(
    'InUse',
    `${device} is ${when}, ${describeHolders(foreign)}; or correct the link of this volume, if it leads to the device of another user. It is neither formatted nor mounted`,
  );
}

/** The same for the mounts of this namespace, which needs one read. */
async function requireUnmountedHere(
  host: NodeHost,
  device: string,
  target: string,
  { mayFormat, isLinkAlone }: DeviceClaim,
): Promise<void> {
  const others = (await host.mounts()).filter(
    ({ target: at, readOnly }) =>
      isOther(at, target, mayFormat) || (isLinkAlone && !readOnly && isOther(at, target, true)),
  );
  if (others.length === 0) return;
  const number = await host.deviceNumber(device);
  const other = others.find((mount) => mount.device === number);
  if (!other) return;
  const at = shownName(other.target);
  const why =
    dirname(other.target) === dirname(target)
      ? ' for another volume, so the link of this one is wrong'
      : mayFormat
        ? ', and this volume is new, so the link of this one is wrong'
        : `, and only its link says that it is the device of this volume: if it is, unmount it there (umount ${at}), and the mount is retried; if it is that of another user, correct the link`;
  throw new DriverError('InUse', `${device} is mounted at ${at}${why}; it is not mounted`);
}
