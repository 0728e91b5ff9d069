import { expect } from 'chai';
import type { Snapshot, Volume } from '@kedge/controllers';
import type { Machine } from './machine.js';

const isLeaving = ({ metadata }: Volume | Snapshot): boolean =>
  metadata.deletionRequestedAt !== undefined;

async function checkNode(machine: Machine): Promise<void> {
  const running = [...machine.workloads.running];
  const { wrongs, frozen, loops, mounts, journal } = await machine.facts();
  expect(wrongs, wrongs.join('; ')).to.deep.equal([]);
  // Resources that survive a kill must be on record for the next start.
  for (const device of frozen) expect(journal).to.include(`freeze ${device}`);
  for (const image of loops) expect(journal).to.include(`loop ${image}`);
  for (const target of mounts.keys()) expect(journal).to.include(`mount ${target}`);
  expect(new Set(loops).size, 'loop devices of one image').to.equal(loops.length);
  const mounted = [...mounts.values()];
  expect(new Set(mounted).size, 'mounts of one image').to.equal(mounted.length);
  for (const [claim, { uid }] of running)
    expect(mounted, `the volume of ${claim}`).to.include(`${uid}.img`);
}

async function checkVolume(machine: Machine, volume: Volume): Promise<void> {
  const { name, status = 'Pending', handle, metadata, attachments = [], boundNode } = volume;
  const label = `${name} ${status}`;
  expect(attachments.length, `${label}: users`).to.be.at.most(1);
  const isBound = status === 'Bound' || (status === 'Stalled' && boundNode);
  expect(Boolean(boundNode), `${label}: boundNode`).to.equal(Boolean(isBound));
  const provisioned = status === 'Available' || status === 'Bound' || status === 'Released';
  if (!provisioned || isLeaving(volume)) return;
  expect(handle, `${label}: handle`).to.not.be.oneOf(['', undefined]);
  const { workloads } = machine;
  const acknowledged = workloads.acknowledged(metadata.uid);
  const records = await machine.records(`${metadata.uid}.img`);
  expect(records, `${label}: its image`).to.not.equal(undefined);
  const { first, second } = records ?? { first: -1, second: -1 };
  workloads.begins(metadata.uid, second);
  expect(second, `${label}: acknowledged records`).to.be.at.least(acknowledged);
  expect(first - second, `${label}: records under way`).to.be.within(0, 1);
}

/**
 * Invariants of volumes, snapshots and the node that hold at every moment.
 * @param promised records that were acknowledged when a snapshot was requested, by its name
 */
export async function checkImages(
  machine: Machine,
  promised: ReadonlyMap<string, number>,
): Promise<void> {
  await checkNode(machine);
  for (const volume of await machine.volumes()) await checkVolume(machine, volume);
  for (const snapshot of await machine.snapshots()) {
    const { name, status, metadata } = snapshot;
    if (status !== 'Ready' || isLeaving(snapshot)) continue;
    const records = await machine.records(`snapshots/${metadata.uid}.img`);
    expect(records, `${name}: its copy`).to.not.equal(undefined);
    const { first, second } = records ?? { first: -1, second: -1 };
    expect(first - second, `${name}: torn`).to.be.within(0, 1);
    const least = promised.get(name) ?? 0;
    expect(second, `${name}: records acknowledged before it was asked for`).to.be.at.least(least);
  }
}

/** Whether a snapshot is at rest: created, failed permanently, or of a volume that waits for a snapshot itself. */
export function isSettled(snapshot: Snapshot, waiting: ReadonlySet<Volume>): boolean {
  if (snapshot.status === 'Ready' || snapshot.status === 'Failed') return true;
  const source = [...waiting].some(({ name }) => name === snapshot.source.volume);
  return source && (snapshot.status ?? 'Pending') === 'Pending';
}

/** Volumes that were not provisioned yet, with the message that their snapshot is missing or not Ready. */
export function waitingForSnapshots(
  all: readonly Volume[],
  taken: readonly Snapshot[],
): ReadonlySet<Volume> {
  const ready = new Set(taken.filter((s) => s.status === 'Ready').map(({ name }) => name));
  return new Set(
    all.filter(({ source, handle = '', reason }) => {
      if (!source || ready.has(source.snapshot)) return false;
      return handle === '' && reason === 'SnapshotNotReady';
    }),
  );
}

/** After all claims were released: nothing is attached, mounted or frozen, and every volume is usable. */
export async function checkHealed(machine: Machine): Promise<void> {
  const { frozen, loops, mounts, journal } = await machine.facts();
  expect(frozen, 'frozen').to.deep.equal([]);
  expect([...mounts.keys()], 'mounts').to.deep.equal([]);
  expect(loops, 'loop devices').to.deep.equal([]);
  expect([...journal], 'journal').to.deep.equal([]);
  const waiting = waitingForSnapshots(await machine.volumes(), await machine.snapshots());
  for (const volume of await machine.volumes())
    if (!isLeaving(volume)) {
      const { name, status, failureMessage = '' } = volume;
      if (waiting.has(volume)) {
        if (status === 'Failed')
          expect(failureMessage, `${name} after healing`).to.match(
            /^snapshot "\S+" (does not exist|is)/,
          );
        continue;
      }
      expect(status, `${name} after healing: ${failureMessage}`).to.equal('Available');
    }
  for (const snapshot of await machine.snapshots())
    if (!isLeaving(snapshot))
      expect(
        isSettled(snapshot, waiting),
        `${snapshot.name} after healing: ${snapshot.status}`,
      ).to.equal(true);
}

/** After everything was deleted: no resources remain. */
export async function checkEmpty(machine: Machine): Promise<void> {
  const left = [...(await machine.volumes()), ...(await machine.snapshots())];
  expect(
    left.map(({ name, status = '', failureMessage = '' }) => `${name} ${status} ${failureMessage}`),
    'objects',
  ).to.deep.equal([]);
  expect(await machine.operations(), 'records of operations').to.deep.equal([]);
  expect((await machine.facts()).files, 'images').to.deep.equal([]);
}
