import { shownName } from '../errors/shown-name.js';

/** A volume on the node: its mount, its device, or both. */
export interface HeldVolume {
  /** Directory with its files. */
  readonly directory?: string;
  /** Block device, such as `/dev/loop3`. */
  readonly device?: string;
}

/** A holder that blocks unmount, detach or delete of a volume. */
export type Holder =
  /** A process with open files, its working directory or its root in the volume. */
  | { readonly type: 'files'; readonly pid: number; readonly command: string }
  /** A process in whose mount namespace it is mounted. */
  | {
      readonly type: 'mount';
      readonly pid: number;
      readonly command: string;
      readonly target: string;
      /** True for a mount in the mount namespace of this process. */
      readonly here: boolean;
    }
  /** A block device of the kernel on top of it: device-mapper, software RAID, a loop device. */
  | { readonly type: 'device'; readonly device: string }
  /** Memory that is swapped out to it. */
  | { readonly type: 'swap'; readonly path: string }
  /** Something that a further source knows, such as a container. */
  | { readonly type: 'other'; readonly name: string; readonly remedy: string };

/** Finds holders of volumes in the kernel or a runtime. */
export interface Holders {
  /** The present holders of the volume that are visible to this process. */
  holders(volume: HeldVolume): Promise<readonly Holder[]>;
}

/** Combines several sources; each holder is listed once. */
export function joinHolders(...sources: readonly Holders[]): Holders {
  return {
    async holders(volume) {
      const found = await Promise.all(sources.map((source) => source.holders(volume)));
      return [...new Map(found.flat().map((holder) => [JSON.stringify(holder), holder])).values()];
    },
  };
}

const namedMax = 10;

function nameOf(holder: Holder): string {
  switch (holder.type) {
    case 'files':
      return `pid ${holder.pid} (${shownName(holder.command)})`;
    case 'mount':
      return holder.here
        ? `a mount at ${shownName(holder.target)}`
        : `pid ${holder.pid} (${shownName(holder.command)}), which has it mounted at ${shownName(holder.target)} in another mount namespace`;
    case 'device':
      return `device ${holder.device}`;
    case 'swap':
      return `swap on ${shownName(holder.path)}`;
    case 'other':
      return holder.name;
  }
}

function remedyOf(holder: Holder): string {
  switch (holder.type) {
    case 'files':
      return `end process ${holder.pid}`;
    case 'mount':
      if (holder.here) return `unmount it (umount ${shownName(holder.target)})`;
      // kedged has a mount namespace of its own: the machine has the mount.
      return holder.pid === 1
        ? `unmount it there (nsenter --target 1 --mount umount ${shownName(holder.target)})`
        : `restart the workload of process ${holder.pid}, or end the process`;
    case 'device':
      return /\/dm-\d+$/.test(holder.device)
        ? `remove that device (dmsetup remove ${holder.device})`
        : /\/loop\d+$/.test(holder.device)
          ? `detach that device (losetup --detach ${holder.device})`
          : `stop that device (${holder.device})`;
    case 'swap':
      return `turn it off (swapoff ${shownName(holder.path)})`;
    case 'other':
      return holder.remedy;
  }
}

/** The holders of a volume with the remedy, for an error: `held by pid 12 (postgres); end process 12`. */
export function describeHolders(holders: readonly Holder[]): string {
  const [first] = holders;
  if (!first)
    return 'held by a process or mount that kedged can not see; find it as root (lsof, findmnt)';
  const names = holders.slice(0, namedMax).map(nameOf);
  const more = holders.length > namedMax ? `, and ${holders.length - namedMax} more` : '';
  const ways = [...new Set(holders.slice(0, namedMax).map(remedyOf))];
  return `held by ${names.join(', ')}${more}; ${ways.join(', ')}`;
}
