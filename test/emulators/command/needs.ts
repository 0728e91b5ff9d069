import { spawnSync } from 'node:child_process';

/** Returns a requirement of real devices that this machine lacks, with the remedy; undefined if it lacks none. */
export function whatDevicesNeed(
  platform: NodeJS.Platform = process.platform,
  user: number | undefined = process.getuid?.(),
): string | undefined {
  const alone = 'or give --without-devices for the APIs alone';
  const volumes = 'Attached volumes are loop devices, which need';
  if (platform !== 'linux')
    return `${volumes} Linux: run this in a Linux machine or in a privileged container (docker run --privileged), ${alone}`;
  if (user !== 0) return `${volumes} root: run it with sudo, ${alone}`;
  for (const program of ['losetup', 'mkfs.ext4', 'mkfs.xfs', 'blkid'])
    if (spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0)
      return `${volumes} ${program}: install the packages mount, e2fsprogs and xfsprogs, ${alone}`;
  const free = spawnSync('losetup', ['--find'], { encoding: 'utf8' });
  if (free.status !== 0)
    return `${volumes} a free loop device: ${free.stderr.trim()}; load the module (modprobe loop), or start the container with --privileged, ${alone}`;
  return undefined;
}
