import { execFile } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { DriverError } from '../errors/errors.js';
import { programsMissing } from '../messages/driver-messages.js';

const path = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const outputBytesMax = 1024 * 1024;

/** The result of a command. */
export interface CommandResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program of the host. A port for drivers, so that tests can replace it. */
export type RunCommand = (
  command: string,
  args: readonly string[],
  signal: AbortSignal,
) => Promise<CommandResult>;

/** Time of an aborted program to clean up before SIGKILL, milliseconds. */
const abortGraceMs = 5_000;

/**
 * Runs a program without a shell, in the C locale. Any exit code resolves, unless it was aborted. Its standard
 * input is a pipe that stays open as long as this process lives. An aborted program gets SIGTERM, and SIGKILL five
 * seconds later; the promise settles when it has ended, at the latest then.
 * @throws DriverError Timeout when aborted; Unavailable naming a program that is not installed, was ended by a signal,
 *   or wrote more than 1 MiB
 */
export const runCommand: RunCommand = (command, args, signal) =>
  new Promise((resolve, reject) => {
    const aborted = (cause?: unknown): DriverError =>
      new DriverError('Timeout', `${command} did not end in time`, { cause });
    if (signal.aborted) return reject(aborted());
    const options = {
      env: { PATH: path, LC_ALL: 'C' },
      maxBuffer: outputBytesMax,
    };
    const child = execFile(command, args, options, (error, stdout, stderr) => {
      signal.removeEventListener('abort', abort);
      if (!error) return resolve({ exitCode: 0, stdout, stderr });
      // The failure of a stopped program says nothing about its purpose.
      if (signal.aborted) return reject(aborted(error));
      const { code } = error as { readonly code?: unknown };
      if (typeof code === 'number') return resolve({ exitCode: code, stdout, stderr });
      const detail =
        code === 'ENOENT'
          ? `is not installed on this node; ${installation([command])}`
          : error.message;
      reject(new DriverError('Unavailable', `${command} ${detail}`, { cause: error }));
    });
    const abort = (): void => {
      child.kill('SIGTERM');
      void pause(abortGraceMs, undefined, { ref: false }).then(() => {
        child.kill('SIGKILL');
        reject(aborted());
      });
    };
    signal.addEventListener('abort', abort, { once: true });
  });

/**
 * Runs a program and returns its standard output.
 * @throws DriverError like {@link runCommand}, and for another exit code than 0, with the program's output
 */
export async function requireCommand(
  run: RunCommand,
  command: string,
  args: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const { exitCode, stdout, stderr } = await run(command, args, signal);
  if (exitCode === 0) return stdout;
  const words = (stderr.trim() || stdout.trim()).slice(0, 500);
  const denied = /permission denied|operation not permitted|must be superuser/i.test(words);
  throw new DriverError(
    denied ? 'PermissionDenied' : 'Unavailable',
    `${command} ended with exit code ${exitCode}: ${words}`,
  );
}

/** Debian packages of the programs that drivers run. */
const packages: Readonly<Record<string, string>> = {
  'mkfs.ext4': 'e2fsprogs',
  e2fsck: 'e2fsprogs',
  resize2fs: 'e2fsprogs',
  dumpe2fs: 'e2fsprogs',
  'mkfs.xfs': 'xfsprogs',
  xfs_db: 'xfsprogs',
  xfs_growfs: 'xfsprogs',
  losetup: 'mount',
  mount: 'mount',
  umount: 'mount',
  blkid: 'util-linux',
  blockdev: 'util-linux',
  fsfreeze: 'util-linux',
  setpriv: 'util-linux',
};

/** The remedy for missing programs. */
export function installation(programs: readonly string[]): string {
  const names = [...new Set(programs.map((program) => packages[program] ?? program))];
  return `install it ${programsMissing.format({ packages: names })}`;
}

const missingNames = 'for p; do command -v "$p" >/dev/null || echo "$p"; done';

/** The programs that are not installed on this node. @throws DriverError like {@link runCommand} */
export async function missingPrograms(
  run: RunCommand,
  programs: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { stdout } = await run('sh', ['-c', missingNames, 'sh', ...programs], signal);
  return stdout.split('\n').filter((name) => name !== '');
}

/**
 * Checks that programs are installed, before resources are created that need them later.
 * @throws DriverError Unavailable naming the missing ones and their packages
 */
export async function requirePrograms(
  run: RunCommand,
  programs: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const missing = await missingPrograms(run, programs, signal);
  if (missing.length === 0) return;
  throw new DriverError(
    'Unavailable',
    `${missing.join(', ')} is not installed on this node; ${installation(missing)}`,
  );
}
