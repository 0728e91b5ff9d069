import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { programPath } from '../launch/process-table.js';

const run = promisify(execFile);

/** The way to create mount namespaces on this host, or the reason why it is impossible. */
export type Isolation =
  | { readonly type: 'root' | 'user' }
  | { readonly type: 'unavailable'; readonly message: string };

/** Tries to create a mount namespace, as root or in a user namespace, and returns the result. Takes at most 5 s. */
export async function probeIsolation(): Promise<Isolation> {
  const root = process.getuid?.() === 0;
  const flags = root ? [] : ['--user', '--map-current-user', '--keep-caps'];
  const script = 'mount -t tmpfs kedge /tmp && command -v setsid pivot_root setpriv >/dev/null';
  const namespaces = [
    '--mount',
    '--pid',
    '--ipc',
    '--fork',
    '--kill-child',
    '--propagation',
    'private',
  ];
  // By the shell of the supervisor: that of BusyBox may run its own unshare, which lacks options.
  const shell = ['-c', 'exec unshare "$@"', 'sh'];
  const args = [...shell, ...flags, ...namespaces, '--', 'sh', '-c', script];
  try {
    await run('/bin/sh', args, { env: { PATH: programPath }, timeout: 5_000 });
    return { type: root ? 'root' : 'user' };
  } catch (error) {
    // The usage of the program may follow.
    const [line = ''] = (error as { stderr?: string }).stderr?.trim().split('\n') ?? [];
    const detail = line || (error as Error).message;
    const message = root
      ? `mount namespaces are not available (${detail}); allow CAP_SYS_ADMIN, and install util-linux with a /bin/sh that runs its programs; then restart kedged`
      : `user namespaces are not available (${detail}); allow them (sysctl kernel.unprivileged_userns_clone=1, or kernel.apparmor_restrict_unprivileged_userns=0), or run kedged as root`;
    return { type: 'unavailable', message };
  }
}
