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
  /** The number of the mount, of which the kernel has only one; absent: unknown. */
  readonly id?: number;
  /** The number of the mount on which it is. */
  readonly parent?: number;
  /** The peer group to which it passes mounts and unmounts below it (mount_namespaces(7)); absent: none. */
  readonly shared?: number;
  /** The peer group from which it gets them, if it is a slave. */
  readonly master?: number;
}

const readsMax = 10;

/** The text of a field of /proc in which blanks are written as octal numbers. */
export function unescapeMountField(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
}

/** The peer group that an optional field names, such as `shared:12`. */
function groupIn<Field extends string>(
  field: Field,
  optional: readonly string[],
): { readonly [name in Field]?: number } {
  const found = optional.find((each) => each.startsWith(`${field}:`));
  if (found === undefined) return {};
  return { [field]: Number(found.slice(field.length + 1)) } as { readonly [name in Field]: number };
}

/** Reads the text of a mountinfo file. Invalid lines are skipped. */
export function parseMountTable(text: string): readonly MountEntry[] {
  return text.split('\n').flatMap((line): MountEntry[] => {
    const [before = '', after = ''] = line.split(' - ');
    const [id, parent, device, root, target, options, ...optional] = before.split(' ');
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
        id: Number(id),
        parent: Number(parent),
        ...groupIn('shared', optional),
        ...groupIn('master', optional),
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
