import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Clock } from 'kedge';
import { programPath } from '../launch/process-table.js';

const run = promisify(execFile);

/** The way to create the namespaces of workloads on this host, or the reason why it is impossible. */
export type Isolation =
  | { readonly type: 'root' | 'user' }
  | { readonly type: 'unavailable'; readonly message: string };

/**
 * Wait before the second probe of a host without namespaces; it doubles up to {@link waitMsMax}. Callers ask every 30 s, and
 * a probe takes up to 5 s, so that a probe begins at most 5 minutes after the last one.
 */
const waitMs = 5_000;
const waitMsMax = 240_000;

/**
 * The isolation of this host. While it is unavailable it is probed again, at increasing intervals up to 4 minutes, because
 * the administrator may allow namespaces or install programs meanwhile. An available one is probed once.
 */
export class IsolationProbes {
  readonly #clock: Clock;
  readonly #probe: () => Promise<Isolation>;
  #last: Promise<Isolation> | undefined;
  /** Time of the next probe on the monotonic clock; never if undefined. */
  #nextAt: number | undefined;
  #waitMs = waitMs;

  /** @param probe default {@link probeIsolation} */
  constructor(clock: Clock, probe = probeIsolation) {
    this.#clock = clock;
    this.#probe = probe;
  }

  /** The result of the last probe, or of a new one if that is due. */
  get(): Promise<Isolation> {
    const isDue = this.#nextAt !== undefined && this.#clock.monotonic() >= this.#nextAt;
    if (this.#last && !isDue) return this.#last;
    this.#nextAt = undefined;
    this.#last = this.#probe().then((mode) => {
      if (mode.type !== 'unavailable') return mode;
      this.#nextAt = this.#clock.monotonic() + this.#waitMs;
      this.#waitMs = Math.min(this.#waitMs * 2, waitMsMax);
      return mode;
    });
    return this.#last;
  }
}

/**
 * Tries to create the namespaces of a workload, as root or in a user namespace, and to find the programs for them.
 * Takes at most 5 s.
 */
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
      ? `mount namespaces are not available (${detail}); install util-linux with a /bin/sh that runs its programs, and kedged probes again within 5 minutes; or allow CAP_SYS_ADMIN in the unit or container of kedged, and restart it`
      : `user namespaces are not available (${detail}); allow them (sysctl kernel.unprivileged_userns_clone=1, or kernel.apparmor_restrict_unprivileged_userns=0), or run kedged as root; kedged probes again within 5 minutes`;
    return { type: 'unavailable', message };
  }
}
