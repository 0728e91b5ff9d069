import { join, relative } from 'node:path';
import type { MountEntry } from '@kedge/driver-sdk';
import { type Relation, relationOf } from './relation.js';
import { isWithin } from './within.js';

/** A directory of a file system, independent of the mounts by which it is reached. */
interface Place {
  readonly device: string;
  readonly path: string;
}

/** Returns the device and place of a path without links; undefined if no mount contains it. The last mount counts. */
function placeOf(path: string, mounts: readonly MountEntry[]): Place | undefined {
  const mount = mounts.filter(({ target }) => isWithin(path, target)).at(-1);
  return mount && { device: mount.device, path: join(mount.root, relative(mount.target, path)) };
}

/** Returns the places of a directory and of the mounts below it. */
function placesIn(directory: string, mounts: readonly MountEntry[]): readonly Place[] {
  const own = placeOf(directory, mounts);
  const below = mounts.filter(({ target }) => target !== directory && isWithin(target, directory));
  return [...(own ? [own] : []), ...below.map(({ device, root }) => ({ device, path: root }))];
}

/**
 * Returns the relation of a directory to a denied path on a device that both use; undefined if there is none. It also
 * detects a mount whose source is in the denied directory. Both paths must be without links.
 */
export function mountRelation(
  directory: string,
  denied: string,
  mounts: readonly MountEntry[],
): Relation | undefined {
  const there = placeOf(denied, mounts);
  if (!there) return undefined;
  for (const { device, path } of placesIn(directory, mounts)) {
    const relation = device === there.device ? relationOf(path, there.path) : undefined;
    if (relation) return relation;
  }
  return undefined;
}
