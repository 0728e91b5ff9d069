import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const mebibyte = 2 ** 20;

/** Whether the kernel lets this process grow a mounted ext4; tested with a small one in an empty folder. */
export function growsExt4Online(folder: string): boolean {
  const [image, target] = [join(folder, 'probe'), join(folder, 'probe-mount')];
  mkdirSync(folder, { recursive: true });
  writeFileSync(image, '');
  truncateSync(image, 16 * mebibyte);
  execFileSync('mkfs.ext4', ['-q', image]);
  mkdirSync(target);
  truncateSync(image, 32 * mebibyte);
  const device = execFileSync('losetup', ['--find', '--show', image], { encoding: 'utf8' }).trim();
  try {
    execFileSync('mount', ['-t', 'ext4', device, target]);
    try {
      return spawnSync('resize2fs', [device]).status === 0;
    } finally {
      execFileSync('umount', [target]);
    }
  } finally {
    execFileSync('losetup', ['--detach', device]);
  }
}
