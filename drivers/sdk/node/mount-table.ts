import { readFile, stat } from 'node:fs/promises';

/** One line of /proc/self/mountinfo (proc(5)). */
export interface MountEntry {
  /** `major:minor` of the device. */
  readonly device: string;
  /** The mounted directory of the file system. */
  readonly root: string;
  readonly target: string;
  readonly readOnly: boolean;
  readonly fsType: string;
  readonly source: string;
}

const readsMax = 10;

/** The text of a field of /proc in which blanks are written as octal numbers. */
export function unescapeMountField(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
}

/** Reads the text of a mountinfo file. Invalid lines are skipped. */
export function parseMountTable(text: string): readonly MountEntry[] {
  return text.split('\n').flatMap((line): MountEntry[] => {
    const [before = '', after = ''] = line.split(' - ');
    const [, , device, root, target, options] = before.split(' ');
    const [fsType, source] = after.split(' ');
    if (!device || !root || !target || options === undefined || !fsType) return [];
    return [
      {
        device,
        root: unescapeMountField(root),
        target: unescapeMountField(target),
        readOnly: options.split(',').includes('ro'),
        fsType,
        source: unescapeMountField(source ?? ''),
      },
    ];
  });
}

/**
 * The present mounts of this process. Read until two reads agree: the kernel gives no consistent view while mounts
 * change (see kubernetes/mount-utils).
 */
export async function readMountTable(
  file = '/proc/self/mountinfo',
): Promise<readonly MountEntry[]> {
  let before = await readFile(file, 'utf8');
  for (let reads = 1; reads < readsMax; reads += 1) {
    const now = await readFile(file, 'utf8');
    if (now === before) break;
    before = now;
  }
  return parseMountTable(before);
}

/** The mount at exactly this path: the last one, if several are stacked; undefined if there is none. */
export async function mountAt(target: string): Promise<MountEntry | undefined> {
  return (await readMountTable()).filter((entry) => entry.target === target).at(-1);
}

/** `major:minor` of a device, as mountinfo names it. @throws Error ENOENT for a device that does not exist */
export async function deviceNumber(device: string): Promise<string> {
  return formatDeviceNumber((await stat(device)).rdev);
}

/** A number of stat(2), of a device or of the device that a file is on, as `major:minor`. */
export function formatDeviceNumber(rdev: number): string {
  // Linux' encoding of device numbers (makedev(3)).
  const major = ((rdev >> 8) & 0xfff) | ((rdev / 2 ** 32) & ~0xfff);
  const minor = (rdev & 0xff) | ((rdev >> 12) & 0xfff00);
  return `${major}:${minor}`;
}
