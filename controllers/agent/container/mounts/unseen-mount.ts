import { readFile, readlink, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type MountEntry, parseMountTable, readMountTable } from '@kedge/driver-sdk';
import type { WorkloadMount } from '../../runtime/runtime.js';
import type { ContainerInspection } from '../engine/engine-containers.js';

/** The source and the target of a mount. */
export type ComparedMount = Pick<WorkloadMount, 'source' | 'target'>;

/** A running container. */
type Running = Pick<ContainerInspection, 'id' | 'pid'>;

/** Links that are followed in a path, as in the kernel. */
const linksMax = 40;

/**
 * The first mount whose source has something mounted for this process, of which the container has something else. The
 * engine resolves sources in its own mount namespace. If mounts of this one do not reach it, the container has the
 * directory below the volume. Undefined if there is none, if the process of the container is not visible here, or if it
 * runs in the mount namespace of this process, such as that of a virtual machine.
 * @param inspect returns the container; called only if something is mounted at a source
 * @param proc where the kernel shows processes
 */
export async function unseenMount<Mount extends ComparedMount>(
  mounts: readonly Mount[],
  inspect: () => Promise<Running | undefined>,
  proc = '/proc',
): Promise<Mount | undefined> {
  if (mounts.length === 0) return undefined;
  const own = await readMountTable(join(proc, 'self', 'mountinfo'));
  const mounted: { readonly mount: Mount; readonly entry: MountEntry }[] = [];
  for (const mount of mounts) {
    // Parents of the data directory may be links, which the table of mounts has resolved.
    const real = await realpath(mount.source).catch(() => mount.source);
    const entry = own.findLast(({ target }) => target === real);
    if (entry) mounted.push({ mount, entry });
  }
  if (mounted.length === 0) return undefined;
  const container = await inspect();
  if (!container || container.pid <= 0) return undefined;
  const folder = join(proc, String(container.pid));
  const textOf = (name: string): Promise<string> =>
    readFile(join(folder, name), 'utf8').catch(() => '');
  const namespaceOf = (process: string): Promise<string | undefined> =>
    readlink(join(proc, process, 'ns', 'mnt')).catch(() => undefined);
  // Another process of that number: the engine may have another pid namespace.
  if (!(await textOf('cgroup')).includes(container.id)) return undefined;
  // The process of a runtime with a virtual machine runs beside the container, whose mounts are then unknown.
  const [here, there] = await Promise.all(['self', String(container.pid)].map(namespaceOf));
  if (here !== undefined && here === there) return undefined;
  const seen = parseMountTable(await textOf('mountinfo'));
  const at = (path: string): MountEntry | undefined =>
    seen.findLast(({ target }) => target === path);
  for (const { mount, entry } of mounted) {
    const found = at(mount.target) ?? at(await placeIn(join(folder, 'root'), mount.target));
    if (found && (found.device !== entry.device || found.root !== entry.root)) return mount;
  }
  return undefined;
}

/**
 * The path without symbolic links below a root directory, as the engine resolves the target of a mount: images have links
 * such as /var/run. A link that can't be read is taken for a directory.
 */
async function placeIn(root: string, path: string): Promise<string> {
  const partsOf = (text: string): string[] =>
    text.split('/').filter((part) => part !== '' && part !== '.');
  const left = partsOf(path);
  let place = '/';
  let links = 0;
  for (let part = left.shift(); part !== undefined; part = left.shift()) {
    if (part === '..') {
      place = dirname(place);
      continue;
    }
    const next = join(place, part);
    const link =
      links < linksMax ? await readlink(join(root, next)).catch(() => undefined) : undefined;
    if (link === undefined) {
      place = next;
      continue;
    }
    links += 1;
    if (link.startsWith('/')) place = '/';
    left.unshift(...partsOf(link));
  }
  return place;
}
