import { expect } from 'chai';
import { effectRecords } from 'kedge';
import { rootPath } from './fake-kernel.js';
import type { ImageWorld } from './world.js';

/** Paths of what the node journal says that there is. */
function recorded({ texts }: ImageWorld): ReadonlySet<string> {
  const states = [...texts.values()].map((text) => JSON.parse(text) as Record<string, string>);
  return new Set(
    states.map(({ type, device, file, target }) => `${type} ${device ?? file ?? target ?? ''}`),
  );
}

/** What must hold of volumes, snapshots and the node at every moment, also while no daemon lives. */
export async function checkImages(world: ImageWorld): Promise<void> {
  const { kernel, workloads } = world;
  expect(kernel.wrongs).to.deep.equal([]);
  const journal = recorded(world);
  // What outlives a kill has to be known to the next start.
  for (const device of kernel.frozen) expect(journal).to.include(`freeze ${device}`);
  for (const { path } of kernel.loops.values()) expect(journal).to.include(`loop ${path}`);
  for (const { target } of kernel.mounts)
    if (!target.startsWith('/tmp/')) expect(journal).to.include(`mount ${target}`);
  for (const [claim, { uid, target }] of workloads.running) {
    const device = kernel.mountedAt(target)?.device ?? '';
    expect(kernel.loops.get(device)?.path, claim).to.equal(`${rootPath}/${uid}.img`);
  }
  for (const volume of await world.volumes()) {
    const { name, status = 'Pending', handle, metadata, attachments = [], boundNode } = volume;
    const label = `${name} ${status}`;
    expect(attachments.length, `${label}: users`).to.be.at.most(1);
    const isBound = status === 'Bound' || (status === 'Stalled' && boundNode);
    expect(Boolean(boundNode), `${label}: boundNode`).to.equal(Boolean(isBound));
    const provisioned = status === 'Available' || status === 'Bound' || status === 'Released';
    if (!provisioned || metadata.deletionRequestedAt !== undefined) continue;
    expect(handle, `${label}: handle`).to.not.be.oneOf(['', undefined]);
    const image = kernel.stored(`${rootPath}/${metadata.uid}.img`);
    expect(image?.whole, `${label}: whole`).to.equal(true);
    const { first = -1, second = -1 } = image?.system ?? {};
    workloads.begins(metadata.uid, second);
    expect(second, `${label}: acknowledged records`).to.equal(workloads.acknowledged(metadata.uid));
    expect(first - second, `${label}: records under way`).to.be.within(0, 1);
  }
  for (const { name, status, metadata } of await world.snapshots()) {
    if (status !== 'Ready' || metadata.deletionRequestedAt !== undefined) continue;
    const image = kernel.stored(`${rootPath}/snapshots/${metadata.uid}.img`);
    expect(image?.whole, `${name}: whole`).to.equal(true);
    const { first = -1, second = -1 } = image?.system ?? {};
    expect(first - second, `${name}: torn`).to.be.within(0, 1);
    const promised = world.promised.get(name) ?? 0;
    expect(second, `${name}: records acknowledged before it was asked for`).to.be.at.least(
      promised,
    );
  }
}

/** After everybody let go: nothing is attached, mounted or frozen, and every volume can be used. */
export async function checkHealed(world: ImageWorld): Promise<void> {
  const { kernel, texts } = world;
  expect(world.bound, 'claims').to.deep.equal([]);
  expect([...kernel.frozen], 'frozen').to.deep.equal([]);
  expect(kernel.mounts, 'mounts').to.deep.equal([]);
  expect([...kernel.loops.keys()], 'loop devices').to.deep.equal([]);
  expect([...texts.values()], 'journal').to.deep.equal([]);
  for (const { name, status, metadata, failureMessage } of await world.volumes())
    if (metadata.deletionRequestedAt === undefined)
      expect(status, `${name} after healing: ${failureMessage ?? ''}`).to.equal('Available');
  for (const { name, status, metadata } of await world.snapshots())
    if (metadata.deletionRequestedAt === undefined)
      expect(status, `${name} after healing`).to.be.oneOf(['Ready', 'Failed']);
}

/** After everything was deleted: nothing is left. */
export async function checkEmpty(world: ImageWorld): Promise<void> {
  const left = [...(await world.volumes()), ...(await world.snapshots())];
  expect(
    left.map(({ name, status = '', failureMessage = '' }) => `${name} ${status} ${failureMessage}`),
    'objects',
  ).to.deep.equal([]);
  const records = (await world.store.list(effectRecords)).items;
  expect(
    records.map(({ of, key }) => `${of} ${key}`),
    'records of operations',
  ).to.deep.equal([]);
  const files = world.kernel.list(rootPath).filter((name) => name !== 'snapshots');
  expect(files, 'images').to.deep.equal([]);
  const copies = world.kernel.kindAt(`${rootPath}/snapshots`) === 'absent';
  expect(copies ? [] : world.kernel.list(`${rootPath}/snapshots`), 'copies').to.deep.equal([]);
}
