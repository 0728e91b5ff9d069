import { demandCommand, DriverError, type RunCommand } from '@kedge/driver-sdk';

/** The copy ends with the daemon: one that went on would write into what the next daemon makes anew. */
const withParent = ['--pdeathsig', 'KILL', '--'] as const;
/** A frozen file system is thawed after this long, whatever the copy does. */
const frozenSecondsMax = 300;

async function copying(promise: Promise<unknown>): Promise<void> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof DriverError && /No space left/.test(error.message))
      throw new DriverError('QuotaExceeded', error.message, { cause: error });
    throw error;
  }
}

/** Copies a directory with everything in it: shared blocks where the file system can, else bytes; durable. */
export async function copyDirectory(
  run: RunCommand,
  from: string,
  to: string,
  signal: AbortSignal,
): Promise<void> {
  const copy = ['cp', '-a', '--reflink=auto', '--sparse=auto', '--', from, to];
  await copying(demandCommand(run, 'setpriv', [...withParent, ...copy], signal));
  await demandCommand(run, 'sync', ['-f', to], signal);
}

/** Copies an image file, holes as holes; durable. */
export async function copyImage(
  run: RunCommand,
  from: string,
  to: string,
  signal: AbortSignal,
): Promise<void> {
  const copy = ['cp', '--reflink=auto', '--sparse=always', '--', from, to];
  await copying(demandCommand(run, 'setpriv', [...withParent, ...copy], signal));
  await demandCommand(run, 'sync', ['-f', to], signal);
}

// The shell thaws, not the daemon: a daemon that dies in between must not leave the workload frozen.
const frozenCopy = `
target=$1 from=$2 to=$3 seconds=$4
thaw() { fsfreeze -u "$target"; }
fsfreeze -f "$target" || exit 1
trap thaw EXIT
trap 'exit 143' TERM INT HUP
timeout -k 5 "$seconds" cp --reflink=auto --sparse=always -- "$from" "$to"
`;

/** As {@link copyImage}, while the file system in the image is mounted at `target` and frozen. */
export async function copyFrozenImage(
  run: RunCommand,
  target: string,
  from: string,
  to: string,
  signal: AbortSignal,
): Promise<void> {
  const args = ['-c', frozenCopy, 'frozen-copy', target, from, to, String(frozenSecondsMax)];
  await copying(demandCommand(run, 'sh', args, signal));
  await demandCommand(run, 'sync', ['-f', to], signal);
}
