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
  const namespaces = ['--mount', '--pid', '--ipc', '--fork', '--propagation', 'private'];
  const args = [...flags, ...namespaces, '--', 'sh', '-c', script];
  try {
    await run('unshare', args, { env: { PATH: programPath }, timeout: 5_000 });
    return { type: root ? 'root' : 'user' };
  } catch (error) {
    const detail = (error as { stderr?: string }).stderr?.trim() || (error as Error).message;
    const message = root
      ? `mount namespaces are not available (${detail}); allow CAP_SYS_ADMIN and install util-linux`
      : `user namespaces are not available (${detail}); allow them (sysctl kernel.unprivileged_userns_clone=1, or kernel.apparmor_restrict_unprivileged_userns=0), or run kedged as root`;
    return { type: 'unavailable', message };
  }
}
