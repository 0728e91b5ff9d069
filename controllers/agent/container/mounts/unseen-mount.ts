import { readFile, readlink, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { type MountEntry, parseMountTable } from '@kedge/driver-sdk';
import type { WorkloadMount } from '../../runtime/runtime.js';
import type { ContainerInspection } from '../engine/engine-containers.js';

/** A running container. */
type Running = Pick<ContainerInspection, 'id' | 'pid'>;

/**
 * The first mount whose source has something mounted for this process, of which the container has something else. The
 * engine resolves sources in its own mount namespace. If mounts of this one do not reach it, the container has the
 * directory below the volume. Undefined if there is none, if the process of the container is not visible here, or if it
 * runs in the mount namespace of this process, such as that of a virtual machine.
 * @param inspect returns the container; called only if something is mounted at a source
 * @param proc where the kernel shows processes
 */
export async function unseenMount(
  mounts: readonly WorkloadMount[],
  inspect: () => Promise<Running | undefined>,
  proc = '/proc',
): Promise<WorkloadMount | undefined> {
  const own = parseMountTable(await readFile(join(proc, 'self', 'mountinfo'), 'utf8'));
  const mounted: { readonly mount: WorkloadMount; readonly entry: MountEntry }[] = [];
  for (const mount of mounts) {
    // Parents of the data directory may be links, which the table of mounts has resolved.
    const real = await realpath(mount.source).catch(() => mount.source);
    const entry = own.findLast(({ target }) => target === real);
    if (entry) mounted.push({ mount, entry });
  }
  if (mounted.length === 0) return undefined;
  const container = await inspect();
  if (!container || container.pid <= 0) return undefined;
  const textOf = (name: string): Promise<string> =>
    readFile(join(proc, String(container.pid), name), 'utf8').catch(() => '');
  const namespaceOf = (process: string): Promise<string | undefined> =>
    readlink(join(proc, process, 'ns', 'mnt')).catch(() => undefined);
  // Another process of that number: the engine may have another pid namespace.
  if (!(await textOf('cgroup')).includes(container.id)) return undefined;
  // The process of a runtime with a virtual machine runs beside the container, whose mounts are then unknown.
  const [here, there] = await Promise.all(['self', String(container.pid)].map(namespaceOf));
  if (here !== undefined && here === there) return undefined;
  const seen = parseMountTable(await textOf('mountinfo'));
  return mounted.find(({ mount, entry }) => {
    const found = seen.findLast(({ target }) => target === mount.target);
    return found && (found.device !== entry.device || found.root !== entry.root);
  })?.mount;
}
