import { execFileSync, spawnSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { readMountTable } from '@kedge/driver-sdk';

/**
 * Why real block devices can't be used here; undefined if they can. In CI it must be undefined: a test that
 * needs them fails there instead of being skipped.
 */
export function whyNoDevices(): string | undefined {
  if (process.getuid?.() !== 0) return 'loop devices and mounts need root';
  for (const program of ['losetup', 'mkfs.ext4', 'mkfs.xfs', 'xfs_growfs', 'blkid', 'e2fsck'])
    if (spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0)
      return `${program} is not installed (packages mount, e2fsprogs, xfsprogs)`;
  if (spawnSync('losetup', ['--find']).status !== 0) return 'no loop device is free';
  return undefined;
}

/** Skips the suite with a message if devices can't be used; throws in CI. */
export function requireDevices(context: Mocha.Context): void {
  const why = whyNoDevices();
  if (why === undefined) return;
  if (process.env['CI']) throw new Error(why);
  console.log(`skipped: ${why}`);
  context.skip();
}

interface Loop {
  /** Matches this device over this file; the name alone may soon belong to another device. */
  readonly id: string;
  readonly name: string;
  readonly file: string;
}

function loopTable(): readonly Loop[] {
  const columns = ['-n', '-O', 'NAME,BACK-MAJ:MIN,BACK-INO,BACK-FILE'];
  const table = execFileSync('losetup', columns, { encoding: 'utf8' });
  return table.split('\n').flatMap((line) => {
    const [name = '', disk = '', inode = '', ...file] = line.trim().split(/\s+/);
    return name === '' ? [] : [{ id: `${name} ${disk} ${inode}`, name, file: file.join(' ') }];
  });
}

/**
 * Unmounts and detaches everything below a folder, and removes the folder. @throws AggregateError once the rest is
 * done, if something could not be unmounted or detached: the folder then stays
 */
export async function cleanUp(folder: string): Promise<void> {
  const isBelow = (path: string): boolean => path === folder || path.startsWith(`${folder}/`);
  const errors: unknown[] = [];
  const tryTo = (program: string, parameters: readonly string[]): void => {
    try {
      execFileSync(program, parameters);
    } catch (error) {
      errors.push(error);
    }
  };
  // Before anything is unmounted: the kernel determines the path of a file from its mount.
  const loops = loopTable();
  const mine = (await readMountTable()).map((e) => e.target).filter(isBelow);
  for (const target of mine.reverse()) tryTo('umount', ['-l', target]);
  // Some were removed with their mounts.
  const left = new Set(loopTable().map(({ id }) => id));
  for (const { id, name, file } of loops)
    if (isBelow(file) && left.has(id)) tryTo('losetup', ['-d', name]);
  // Removal would delete the content of remaining mounts.
  if (errors.length > 0) throw new AggregateError(errors, `${folder} is not cleaned up`);
  await rm(folder, { recursive: true, force: true });
}
