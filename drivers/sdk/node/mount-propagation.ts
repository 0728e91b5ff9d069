import { dirname, join, relative } from 'node:path';
import type { Holder } from './holders.js';
import type { MountEntry } from './mount-table.js';
import type { NodeHost } from './node-host.js';
import { commandOf, type ProcessMounts } from './process-mounts.js';

function parentOf({ mounts }: ProcessMounts, { parent }: MountEntry): MountEntry | undefined {
  return parent === undefined ? undefined : mounts.find(({ id }) => id === parent);
}

/** Where a mount is: the directory in the file system of its parent, which is the same in each copy of the parent. */
function placeOf(parent: MountEntry, { target }: MountEntry): string {
  return `${parent.device} ${join(parent.root, relative(parent.target, target))}`;
}

/** A peer group, and all groups whose mounts get its mounts and unmounts. */
function groupsBelow(views: readonly ProcessMounts[], first: number): ReadonlySet<number> {
  const groups = new Set([first]);
  const entries = views.flatMap(({ mounts }) => mounts);
  for (let known = 0; known < groups.size; ) {
    known = groups.size;
    for (const { master, shared } of entries)
      if (master !== undefined && shared !== undefined && groups.has(master)) groups.add(shared);
  }
  return groups;
}

/** The ids of the mounts that end with those at `targets`, top first, of this mount namespace. */
function endingWith(
  views: readonly ProcessMounts[],
  own: ProcessMounts,
  targets: readonly MountEntry[],
): ReadonlySet<number> {
  const ending = new Set<number>();
  for (const ended of [...targets].reverse()) {
    if (ended.id !== undefined) ending.add(ended.id);
    const parent = parentOf(own, ended);
    if (parent?.shared === undefined) continue;
    const groups = groupsBelow(views, parent.shared);
    const place = placeOf(parent, ended);
    for (const view of views)
      for (const entry of view.mounts) {
        const above = parentOf(view, entry);
        if (entry.id === undefined || !above) continue;
        const isCopy = groups.has(above.shared ?? -1) || groups.has(above.master ?? -1);
        if (!isCopy || placeOf(above, entry) !== place) continue;
        // The kernel keeps a copy over which something else is mounted.
        const over = view.mounts.filter(({ parent: below }) => below === entry.id);
        if (over.every(({ id }) => id !== undefined && ending.has(id))) ending.add(entry.id);
      }
  }
  return ending;
}

/**
 * The mounts of a device that stay when what is mounted at `target` is unmounted. Those of other mount namespaces that
 * get the unmount by propagation (mount_namespaces(7)) end with it, such as those of most services of systemd. Mounts
 * of this namespace beside `target` are omitted: they are of other volumes.
 */
export async function stayingMounts(
  host: NodeHost,
  target: string,
  device: string,
): Promise<readonly Holder[]> {
  const views: ProcessMounts[] = [];
  for await (const view of host.processMounts()) views.push(view);
  const [own] = views;
  if (!own) return [];
  const ending = endingWith(
    views,
    own,
    own.mounts.filter((entry) => entry.target === target),
  );
  const found: Holder[] = [];
  const seen = new Set<number>();
  for (const view of views) {
    const here = view.namespace === own.namespace;
    for (const { device: number, id, target: at } of view.mounts) {
      if (number !== device || (id !== undefined && (ending.has(id) || seen.has(id)))) continue;
      if (here && (at === target || dirname(at) === dirname(target))) continue;
      if (id !== undefined) seen.add(id);
      const { pid } = view;
      found.push({ type: 'mount', pid, command: await commandOf(pid), target: at, here });
    }
  }
  return found;
}

/** The mounts at `target` in other mount namespaces, also in those whose root is another directory. */
export async function mountsElsewhere(
  host: NodeHost,
  target: string,
): Promise<readonly { readonly entry: MountEntry; readonly holder: Holder }[]> {
  const found: { readonly entry: MountEntry; readonly holder: Holder }[] = [];
  let own: string | undefined;
  for await (const { pid, namespace, mounts } of host.processMounts()) {
    own ??= namespace;
    if (namespace === own) continue;
    for (const entry of mounts.filter((each) => each.target.endsWith(target))) {
      const command = await commandOf(pid);
      const holder = { type: 'mount', pid, command, target: entry.target, here: false } as const;
      found.push({ entry, holder });
    }
  }
  return found;
}
