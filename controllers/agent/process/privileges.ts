/** What a process of root keeps unless its service says otherwise: rights over its own files and ports. */
export const defaultCapabilities = [
  'chown',
  'dac_override',
  'fowner',
  'fsetid',
  'kill',
  'net_bind_service',
  'setgid',
  'setuid',
  'sys_chroot',
] as const;

/** How the daemon may make namespaces: as root, or as an ordinary user in a user namespace. */
export type BoxMode = 'root' | 'user';

/**
 * Arguments of setpriv(1) that take away what a workload does not keep. As root a program of uid 0 gets what
 * the bounding set leaves.
 */
export function privilegesOf(mode: BoxMode): readonly string[] {
  const kept = mode === 'root' ? defaultCapabilities.map((name) => `,+${name}`).join('') : '';
  return ['--no-new-privs', `--bounding-set=-all${kept}`, '--inh-caps=-all', '--ambient-caps=-all'];
}
