import { expect } from 'chai';
import { modify } from 'kedge';
import { settle } from 'kedge/testing';
import { explain } from '../../cause/index.js';
import { abandonAnnotation } from '../../messages/abandoned-deletion.js';
import { emptyWorld } from '../../reasons/index.js';
import { storageClasses } from '../../storage-class/kind.js';
import { StorageWorld } from '../../testing/storage-world.js';
import { type Volume, volumes } from '../kind.js';

const key = { namespace: 'default', name: 'v' };
const hour = 3_600_000;
const absent = 'the class has no accessKeyId, and nothing answers';
const unobserved = "operation 1 can't be observed: forbidden";

describe('a volume that is being deleted without a credential that returns', () => {
  let world: StorageWorld;
  beforeEach(async () => {
    world = await StorageWorld.start();
  });
  afterEach(() => world.stop());

  const volume = async (): Promise<Volume> => (await world.volume()) ?? expect.fail('it is gone');
  const change = async (more: (found: Volume) => Partial<Volume>): Promise<void> => {
    await modify(world.store, volumes, key, (found) => ({ ...found, ...more(found) }));
    await settle();
    await world.clock.advance(hour);
  };
  const annotate = (value: string): Promise<void> =>
    change(({ metadata }) => ({
      metadata: { ...metadata, annotations: { [abandonAnnotation]: value } },
    }));
  /** What `kedge why` advises. */
  const advice = async (): Promise<string> => {
    const object = await volume();
    const { items } = await world.store.list(storageClasses);
    const told = explain({ kind: 'Volume', object }, { ...emptyWorld, storageClasses: items });
    return told?.remedy?.text ?? '';
  };
  /** Follows the advice: another policy, which has no effect, and then the annotation. */
  const ends = async (): Promise<void> => {
    await change(() => ({ reclaimPolicy: 'retain' }));
    const { metadata } = await volume();
    await annotate('another uid');
    const command = `kedge annotate volume/v -n default ${abandonAnnotation}=${metadata.uid}`;
    expect(await advice())
      .to.contain(command)
      .and.not.contain('"retain"');
    await annotate(metadata.uid);
    expect(await world.volume()).to.equal(undefined);
  };

  it('is removed by its annotation if its creation may have made something', async () => {
    world.driver.slow = { provision: 1_000 };
    await world.createVolume();
    world.driver.failsOn = { provision: 'Unavailable', delete: 'Unavailable' };
    world.driver.failsWith = absent;
    await world.clock.advance(hour);
    expect(await volume()).to.include({ status: 'Failed' });
    await world.deleteVolume();
    await world.clock.advance(hour);
    await ends();
  });

  for (const kind of ['CredentialsRejected', 'PermissionDenied'] as const)
    it(`is removed by its annotation if it was deleted during its creation, ${kind}`, async () => {
      world.driver.slow = { provision: 2 };
      await world.createVolume();
      await world.deleteVolume();
      world.driver.failsOn = { delete: kind };
      await world.clock.advance(hour);
      expect(await volume()).to.include({ handle: 'h', neverUsed: true, status: 'Failed' });
      await ends();
    });

  for (const [kind, message] of [
    ['CredentialsRejected', 'no such key'],
    ['PermissionDenied', 'forbidden'],
    ['Unavailable', absent],
    ['Timeout', unobserved],
  ] as const)
    it(`is removed by its annotation if the outcome of its creation can't be read, ${kind}`, async () => {
      world.driver.failsOn = { provision: 'Timeout', observe: kind, delete: kind };
      world.driver.failsWith = message;
      await world.createVolume();
      await world.deleteVolume();
      await world.clock.advance(hour);
      expect(await volume()).to.include({ status: 'Stalled' });
      expect(await advice()).to.not.contain('"retain"');
      await ends();
    });

  it('is deleted as usual if its outcome can be read again, with the annotation too', async () => {
    world.driver.failsOn = { provision: 'Timeout', observe: 'CredentialsRejected' };
    await world.createVolume();
    const { uid } = (await volume()).metadata;
    world.driver.made.add(uid);
    await world.deleteVolume();
    await world.clock.advance(1_000);
    world.driver.failsOn = {};
    await annotate(uid);
    expect(await world.volume()).to.equal(undefined);
    expect(world.driver.made.size).to.equal(0);
  });

  it('stays with the annotation while the provider does not answer, and if it is not being deleted', async () => {
    world.driver.failsOn = { provision: 'Timeout', observe: 'Unavailable' };
    await world.createVolume();
    const { uid } = (await volume()).metadata;
    await annotate(uid);
    expect(await volume()).to.include({ status: 'Stalled' });
    await world.deleteVolume();
    await world.clock.advance(hour);
    expect(await volume()).to.include({ status: 'Stalled' });
    world.driver.failsOn = {};
    await world.clock.advance(hour);
    expect(await world.volume()).to.equal(undefined);
  });
});
