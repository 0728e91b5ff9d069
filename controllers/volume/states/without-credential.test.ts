import { expect } from 'chai';
import { modify } from 'kedge';
import { settle } from 'kedge/testing';
import { storageClasses } from '../../storage-class/kind.js';
import { StorageWorld } from '../../testing/storage-world.js';
import { type Volume, volumes } from '../kind.js';
import { isDeletionUnderWay } from './deletion-report.js';

const key = { namespace: 'default', name: 'v' };
const hour = 3_600_000;

/** Refusals of parameters without which a driver sends nothing. */
const unfit = [
  'parameter apiToken: secret default/s does not exist; create it',
  'parameter apiToken: the class has no token; set apiToken to a secret reference',
  'parameter accessKeyId: is required with secretAccessKey; set both',
  'parameter credentialsJSON: the value is not JSON; set it to a secret reference',
];

/** Answers that do not show the outcome of an earlier call. */
const kinds = [
  'Unavailable',
  'InvalidParameters',
  'CredentialsRejected',
  'PermissionDenied',
  'Throttled',
] as const;

describe('a volume whose calls get no credential', () => {
  let world: StorageWorld;
  beforeEach(async () => {
    world = await StorageWorld.start();
  });
  afterEach(() => world.stop());

  const volume = async (): Promise<Volume> => (await world.volume()) ?? expect.fail('it is gone');
  const isLocked = async (): Promise<boolean> => isDeletionUnderWay(await volume());
  const retain = async (): Promise<void> => {
    const reclaimPolicy = 'retain' as const;
    await modify(world.store, volumes, key, (found) => ({ ...found, reclaimPolicy }));
    await settle();
  };
  const failing = (kind: (typeof kinds)[number] | 'Timeout'): void => {
    world.driver.failsOn = { provision: kind, delete: kind };
    world.driver.failsWith = {
      Unavailable: 'the class has no accessKeyId, and nothing answers',
      InvalidParameters: 'parameter apiToken: secret default/s does not exist; create it',
      CredentialsRejected: 'no such key',
      PermissionDenied: 'not permitted',
      Throttled: 'too many requests',
      Timeout: 'no answer',
    }[kind];
  };

  it('stays under its own retain while its creation has no known end, and the created resource is deleted later', async () => {
    world.driver.slow = { provision: 1_000 };
    await world.createVolume({ reclaimPolicy: 'retain' });
    world.driver.made.add((await volume()).metadata.uid);
    failing('Unavailable');
    await world.clock.advance(hour);
    expect(await volume()).to.include({ status: 'Failed', reason: 'Unavailable' });
    await world.deleteVolume();
    await world.clock.advance(hour);
    expect(await volume()).to.include({ name: 'v' });
    world.driver.failsOn = {};
    await world.clock.advance(hour);
    expect(await world.volume()).to.equal(undefined);
    expect(world.driver.made.size).to.equal(0);
  });

  it('is removed under its own retain with a rejected credential, also if something may be there', async () => {
    world.driver.slow = { provision: 1_000 };
    await world.createVolume({ reclaimPolicy: 'retain' });
    failing('CredentialsRejected');
    await world.clock.advance(hour);
    await world.deleteVolume();
    await world.clock.advance(hour);
    expect(await world.volume()).to.equal(undefined);
  });

  it('stays if only the policy of its class is retain', async () => {
    const change = (found: object) => ({ ...found, reclaimPolicy: 'retain' });
    await modify(world.store, storageClasses, { name: 'c' }, change as never);
    failing('Unavailable');
    await world.createVolume();
    await world.clock.advance(hour);
    await world.deleteVolume();
    await world.clock.advance(hour);
    expect(await volume()).to.include({ name: 'v', status: 'Failed' });
    await retain();
    expect(await world.volume()).to.equal(undefined);
  });

  for (const kind of kinds)
    it(`keeps its policy while the provider carries out a deletion that it accepted, ${kind}`, async () => {
      await world.createVolume();
      world.driver.slow = { delete: 1 };
      await world.deleteVolume();
      failing(kind);
      await world.clock.advance(hour);
      expect(await isLocked()).to.equal(true);
      world.driver.failsOn = {};
      await world.clock.advance(hour);
      expect(await world.volume()).to.equal(undefined);
      expect(world.driver.made.size).to.equal(0);
    });

  for (const [kind, message] of [
    ['Unavailable', undefined] as const,
    ...unfit.map((text) => ['InvalidParameters', text] as const),
  ])
    it(`keeps its policy after a deletion without an answer, until a call is answered, ${message ?? kind}`, async () => {
      failing('Timeout');
      world.driver.failsOn = { delete: 'Timeout' };
      await world.createVolume();
      await world.deleteVolume();
      failing(kind);
      world.driver.failsWith = message ?? world.driver.failsWith;
      await world.clock.advance(hour);
      expect(await isLocked()).to.equal(true);
      expect((await volume()).failureMessage).to.not.contain('retain');
      failing('CredentialsRejected');
      await world.clock.advance(hour);
      expect(await isLocked()).to.equal(false);
    });

  it('can get another policy if the driver refuses other parameters twice', async () => {
    failing('Timeout');
    world.driver.failsOn = { delete: 'Timeout' };
    await world.createVolume();
    await world.deleteVolume();
    failing('InvalidParameters');
    world.driver.failsWith = 'parameter region: is not the name of a region';
    await world.clock.advance(hour);
    expect(await isLocked()).to.equal(false);
  });

  it('can get another policy if no earlier call may delete its data', async () => {
    await world.createVolume();
    failing('Unavailable');
    await world.deleteVolume();
    await world.clock.advance(hour);
    expect(await isLocked()).to.equal(false);
    await retain();
    expect(await world.volume()).to.equal(undefined);
    expect(world.driver.made.size).to.equal(1);
  });

  it('is removed under retain if it never got one, also after a kill during a deletion', async () => {
    failing('Unavailable');
    await world.createVolume();
    await world.clock.advance(hour);
    world.driver.onCall = (call) =>
      call === 'delete' ? new Promise(() => undefined) : Promise.resolve();
    await world.deleteVolume();
    expect(await isLocked()).to.equal(true);
    world.driver.onCall = undefined;
    await world.restartDuringCall();
    await world.clock.advance(hour);
    expect(await isLocked()).to.equal(false);
    await retain();
    expect(await world.volume()).to.equal(undefined);
  });
});
