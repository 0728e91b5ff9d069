import { basename, dirname, join } from 'node:path';
import { type HeldVolume, type Holder, isAtOrBelow } from '@kedge/driver-sdk';
import type { ContainerSummary } from './engine/engine-containers.js';

/** States in which a container has no mounts. */
const over = ['created', 'exited', 'dead'];

/** Finds the containers that have a volume mounted and have not ended, including those of other programs. */
export function holdersAmong(
  containers: readonly ContainerSummary[],
  { directory }: HeldVolume,
): readonly Holder[] {
  if (directory === undefined) return [];
  // The bind mounts of the volume, one for each instance, are below `binds` beside the volume's directory.
  const binds = join(dirname(directory), 'binds', basename(directory));
  return containers
    .filter(({ state }) => !over.includes(state))
    .filter(({ mounts }) =>
      mounts.some(({ source }) => isAtOrBelow(source, directory) || isAtOrBelow(source, binds)),
    )
    .map(({ name }) => ({
      type: 'other',
      name: `container ${name}`,
      remedy: `stop that container (docker stop ${name})`,
    }));
}
