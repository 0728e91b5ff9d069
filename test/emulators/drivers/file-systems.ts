import { seed } from '../../fixtures/seed.js';
/** The file systems of the cloud drivers. */
const all = ['ext4', 'xfs'] as const;

/** Whether all checks run on all file systems. */
export const isWhole = process.env['KEDGE_CLOUD_CONFORMANCE'] === 'all';

/**
 * The file systems on which the conformance suite of a cloud driver runs: all with KEDGE_CLOUD_CONFORMANCE=all,
 * otherwise one that the seed selects. `position` is that of the driver: each half of the drivers, which the parity of
 * the seed selects, covers each file system, and seeds of one parity select each file system of a driver.
 */
export function sampledFileSystems(position: number): readonly (typeof all)[number][] {
  if (isWhole) return all;
  const turn = Math.floor(seed / 2) + Math.floor(position / 2);
  return all.filter((_, index) => index === turn % all.length);
}

/** Prints the file systems of the sample, and the seed that selects them. */
export function printSample(driver: string, sample: readonly string[]): void {
  console.log(`      ${driver}: ${sample.join(', ')} of ${all.join(', ')}, KEDGE_SEED=${seed}`);
}
