import type { ClassRequest, PermissionReport } from '../contract/provider-report.js';
import { programReports } from './program-reports.js';
import type { RunCommand } from '../node/run-command.js';

/** The programs that create, check, mount and grow file systems on devices, with those of each type. */
export const blockPrograms = {
  all: ['mount', 'umount', 'blkid', 'blockdev'],
  ext4: ['mkfs.ext4', 'e2fsck', 'resize2fs', 'dumpe2fs'],
  xfs: ['mkfs.xfs', 'xfs_growfs', 'xfs_db'],
} as const;

/** Whether the node has the programs that format, check, mount and grow the devices of a class. */
export function blockProgramReports(
  run: RunCommand,
  { parameters, signal }: ClassRequest,
): Promise<readonly PermissionReport[]> {
  const ofFileSystem = parameters.fsType === 'xfs' ? blockPrograms.xfs : blockPrograms.ext4;
  const needed = 'formatting, checking, mounting and growing devices on this node';
  return programReports(run, [...blockPrograms.all, ...ofFileSystem], needed, signal);
}
