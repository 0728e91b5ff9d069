import { DriverError, requireCommand, type RunCommand } from '@kedge/driver-sdk';

/** The copy ends with the daemon: otherwise it could write into the next daemon's copy. */
const withParent = ['--pdeathsig', 'KILL', '--'] as const;
/** A frozen file system is thawed after this time at the latest. */
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

/*
 * A workload may change the directory while it is copied. `cp` resolves paths, so a directory that is replaced by a
 * link at the right moment would make it copy any file that the daemon may read. It therefore runs in a separate
 * root with only programs, the directory and the copy.
 */
const confinedCopy = `
set -e
exec 8<"$1"
mkdir -m 0700 -- "$2"
exec 9<"$2"
mount -t tmpfs -o mode=0755 kedge /tmp
cd /tmp
for entry in /bin /sbin /lib /lib32 /lib64 /libx32 /usr /nix /gnu; do
  if [ -L "$entry" ]; then
    cp -P -- "$entry" ".$entry"
  elif [ -d "$entry" ]; then
    mkdir ".$entry"
    mount --rbind "$entry" ".$entry"
  fi
done
mkdir from to
mount --no-canonicalize --bind /proc/self/fd/8 from
mount --no-canonicalize --bind /proc/self/fd/9 to
exec 8<&- 9<&-
exec chroot . setpriv --pdeathsig KILL -- cp -a --reflink=auto --sparse=auto -- /from/. /to/
`;

/** A new mount namespace; for an ordinary user in a user namespace. */
function withOwnMounts(): readonly string[] {
  const user = process.getuid?.() === 0 ? [] : ['--user', '--map-current-user', '--keep-caps'];
  return ['unshare', ...user, '--mount', '--propagation', 'private', '--'];
}

/**
 * Copies a directory recursively and durably, and nothing from outside, even if it changes meanwhile. Blocks are shared
 * if the file system supports it.
 * @throws DriverError; QuotaExceeded if the disk is full
 */
export async function copyDirectory(
  run: RunCommand,
  from: string,
  to: string,
  signal: AbortSignal,
): Promise<void> {
  const copy = [...withOwnMounts(), 'sh', '-c', confinedCopy, 'copy', from, to];
  await copying(requireCommand(run, 'setpriv', [...withParent, ...copy], signal));
  await requireCommand(run, 'sync', ['-f', to], signal);
}

/** Copies an image file durably; holes stay holes. @throws DriverError; QuotaExceeded if the disk is full */
export async function copyImage(
  run: RunCommand,
  from: string,
  to: string,
  signal: AbortSignal,
): Promise<void> {
  const copy = ['cp', '--reflink=auto', '--sparse=always', '--', from, to];
  await copying(requireCommand(run, 'setpriv', [...withParent, ...copy], signal));
  await requireCommand(run, 'sync', ['-f', to], signal);
}

/*
 * Freezes a file system by an open descriptor, copies, and thaws by the same descriptor: it stays valid when the
 * file system is unmounted here while other mount namespaces have it. The shell thaws when the copy ends or takes
 * too long, on a signal, and when the daemon dies, which closes its standard input. Exit code 0 means that the file
 * system was frozen throughout the copy, and is thawed.
 */
const frozenCopy = `
from=$2 to=$3 seconds=$4 frozen= watcher=
exec 8<&0 9<"$1" || exit 1
finish() {
  status=$?
  trap '' TERM INT HUP
  [ -z "$watcher" ] || kill "$watcher" 2>/dev/null
  [ -z "$frozen" ] || fsfreeze --unfreeze /proc/self/fd/9 || exit 97
  exit "$status"
}
trap finish EXIT
trap 'exit 143' TERM INT HUP
# The shell may write to a closed pipe, which must not end it.
trap '' PIPE
fsfreeze --freeze /proc/self/fd/9 || exit 1
frozen=yes
setpriv --pdeathsig KILL -- timeout -k 5 "$seconds" \\
  setpriv --pdeathsig KILL -- cp --reflink=auto --sparse=always -- "$from" "$to" 8<&- 9<&- &
copy=$!
(read -r _ <&8; kill "$copy") >/dev/null 2>&1 9<&- &
watcher=$!
wait "$copy"
status=$?
[ "$status" -ne 124 ] || echo "the copy took more than $seconds s, during which the file system was frozen" >&2
exit "$status"
`;

/**
 * Like {@link copyImage}, with the file system in the image frozen during the copy.
 * @param opened path of the opened root directory of that file system
 */
export async function copyFrozenImage(
  run: RunCommand,
  opened: string,
  from: string,
  to: string,
  signal: AbortSignal,
): Promise<void> {
  const args = ['-c', frozenCopy, 'frozen-copy', opened, from, to, String(frozenSecondsMax)];
  await copying(requireCommand(run, 'sh', args, signal));
  await requireCommand(run, 'sync', ['-f', to], signal);
}
