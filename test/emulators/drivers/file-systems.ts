/** The file systems of the cloud drivers. */
const all = ['ext4', 'xfs'] as const;

const seed = Number(process.env['KEDGE_SEED'] ?? Date.now() % 100_000);

/**
 * The file systems on which the conformance suite of a cloud driver runs: all with KEDGE_CLOUD_CONFORMANCE=all, otherwise
 * one that the seed selects. `position` distinguishes the drivers, so that a run covers each file system with one of them.
 */
export function sampledFileSystems(position: number): readonly (typeof all)[number][] {
  if (process.env['KEDGE_CLOUD_CONFORMANCE'] === 'all') return all;
  return all.filter((_, index) => index === (seed + position) % all.length);
}

/** Prints the file systems of the sample, and the seed that selects them. */
export function printSample(driver: string, sample: readonly string[]): void {
  console.log(`      ${driver}: ${sample.join(', ')} of ${all.join(', ')}, KEDGE_SEED=${seed}`);
}
