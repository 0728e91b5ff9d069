import type { ObjectStore, Random } from 'kedge';
import {
  type Snapshot,
  type snapshots,
  snapshotTransitions,
  type TransitionRow,
  transitions,
  type Volume,
  volumes,
} from '@kedge/controllers';

/**
 * Writes a phase that has no row in the table of transitions, as a caller with the right to write phases.
 * @returns the written phase; undefined if the table allows all
 * @throws StatusError the refusal
 */
export async function writeIllegalPhase(
  store: ObjectStore,
  kind: typeof volumes | typeof snapshots,
  { namespace, name, status: from = 'Pending', metadata }: Volume | Snapshot,
  random: Random,
): Promise<string | undefined> {
  const rows: readonly TransitionRow[] = kind === volumes ? transitions : snapshotTransitions;
  const legal = new Set([from, ...rows.filter((row) => row.from === from).map(({ to }) => to)]);
  const phases = new Set(rows.map(({ from: phase }) => phase).filter((p) => p !== 'None'));
  const illegal = [...phases].filter((phase) => !legal.has(phase));
  const to = illegal[Math.floor(random.next() * illegal.length)];
  if (to === undefined) return undefined;
  const { uid, resourceVersion } = metadata;
  const guard = { uid, resourceVersion };
  const change = { status: to } as never;
  await store.updateStatus(kind as typeof volumes, { namespace, name }, change, guard);
  return `${name} from ${from} to ${to}`;
}
