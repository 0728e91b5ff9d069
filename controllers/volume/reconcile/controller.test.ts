import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  type LogFields,
  type Logger,
  Manager,
  MemoryEngine,
  type ObjectStore,
  openStore,
  seededRandom,
} from 'kedge';
import { eventually, FakeClock, settle } from 'kedge/testing';
import { claimOf, UsedParameters, VolumeManager } from '../../agent/index.js';
import type { Instance } from '../../instance/kind.js';
import { secrets } from '../../secret/kind.js';
import { storageClasses } from '../../storage-class/kind.js';
import { type Volume, volumes } from '../kind.js';
import { defaultPolicy } from '../../policy/policy.js';
import { parameterResolver, placeOf, Sealer } from '../../secret/index.js';
import { PlayedDriver } from '../../testing/played-driver.js';
import { instanceOf } from '../../testing/storage-world.js';
import { volumeFinalizer } from '../admission.js';
import { rearm, volumeController } from './controller.js';

const mount = { name: 'd', mountPath: '/d', claim: { name: 'v' } };

/** A logger that appends to `lines`. */
function keepingLogger(lines: (LogFields & { readonly msg: string })[]): Logger {
  const keep = (msg: string, fields: LogFields = {}): void => void lines.push({ msg, ...fields });
  const logger: Logger = { debug: keep, info: keep, warn: keep, error: keep, child: () => logger };
  return logger;
}

describe('volume controller', () => {
  const ofSecrets = new Sealer(randomBytes(32));
  const key = { namespace: 'default', name: 'v' };
  let clock: FakeClock;
  let store: ObjectStore;
  let manager: Manager;
  let driver: PlayedDriver;
  let volumeManager: VolumeManager;
  let lines: (LogFields & { readonly msg: string })[];

  beforeEach(async () => {
    clock = new FakeClock();
    lines = [];
    const random = seededRandom(1);
    const logger = keepingLogger(lines);
    store = await openStore({ engine: new MemoryEngine(), clock });
    manager = new Manager({ store, clock, random });
    driver = new PlayedDriver();
    const drivers = driver.registry();
    const resolver = parameterResolver(manager.informer(secrets).lister, ofSecrets);
    const ports = { store, manager, clock, random, logger, policy: defaultPolicy };
    const common = { ...ports, drivers, resolver, node: 'n' };
    manager.addController(volumeController(common));
    volumeManager = new VolumeManager({ ...common, mountRoot: '/mounts' });
    await store.create(storageClasses, { name: 'c', driver: 'played', reclaimPolicy: 'delete' });
    await manager.start();
  });
  afterEach(async () => {
    const stopping = manager.stop(0);
    await clock.advance(10_000);
    await stopping;
    await store.close();
  });

  async function create(fields: Partial<Volume> = {}): Promise<void> {
    await store.create(volumes, {
      ...fields,
      ...key,
      storageClassName: 'c',
      size: '1Gi',
      accessMode: 'ReadWriteOnce',
      metadata: { finalizers: [volumeFinalizer] },
    });
    await settle();
  }
  const volume = async (): Promise<Volume | undefined> => store.get(volumes, key);

  it('V5: backs off although recording each failure changes the volume, and fails after ten attempts', async () => {
    driver.fails = 'Unavailable';
    await create();
    expect(driver.calls).to.have.length(1);
    await clock.advance(500);
    expect(driver.calls).to.have.length(1);
    await clock.advance(60_000);
    expect(driver.calls.length).to.be.within(5, 7);
    await clock.advance(700_000);
    expect((await volume())?.status).to.equal('Failed');
    expect((await volume())?.attempts).to.equal(10);
    expect(driver.calls).to.have.length(10);
    await rearm(store, (await volume())!);
    await settle();
    expect(driver.calls, 'retried at once on request').to.have.length(11);
  });

  it('retries at once when an object changes on which the failure depends', async () => {
    driver.fails = 'Unavailable';
    await create();
    await clock.advance(20_000);
    const before = driver.calls.length;
    driver.fails = undefined;
    const cls = await store.get(storageClasses, { name: 'c' });
    await store.update(storageClasses, { ...cls!, labels: { touched: 'yes' } });
    await settle();
    expect(driver.calls.length).to.equal(before + 1);
    expect((await volume())?.status).to.equal('Available');
  });

  it('retries at once when the secret that apiTokenSecretRef names changes', async () => {
    driver.fails = 'CredentialsRejected';
    await create({ parameters: { apiTokenSecretRef: 'default/legacy' } });
    await clock.advance(20_000);
    expect((await volume())?.status).to.equal('Failed');
    const before = driver.calls.length;
    driver.fails = undefined;
    const place = { namespace: 'default', name: 'legacy', version: 1 };
    const data = { token: ofSecrets.seal('t', placeOf(place, 'token')) };
    await store.create(secrets, { ...place, data });
    await settle();
    expect(driver.calls.length).to.equal(before + 1);
    expect((await volume())?.status).to.equal('Available');
  });

  it('V24: a failing deletion backs off too, keeps the object, and completes when the driver succeeds', async () => {
    await create();
    await store.deleteByName(volumes, key);
    driver.fails = 'InUse';
    await settle();
    await clock.advance(60_000);
    const tries = driver.calls.filter((call) => call === 'delete').length;
    expect(tries).to.be.within(2, 8);
    expect((await volume())?.lastOperation?.message).to.match(/^call/);
    driver.fails = 'PermissionDenied';
    await clock.advance(300_000);
    expect(await volume()).to.include({ status: 'Failed', handle: 'h' });
    expect((await volume())?.failureMessage).to.match(/^call/);
    driver.fails = undefined;
    await clock.advance(300_000);
    expect(await volume()).to.equal(undefined);
  });

  it('V8, V20: an unknown outcome is Stalled until an observation determines it', async () => {
    driver.fails = 'Timeout';
    await create();
    expect((await volume())?.status).to.equal('Stalled');
    await clock.advance(90_000);
    expect(driver.calls.filter((call) => call === 'provision')).to.have.length(1);
    driver.fails = undefined;
    await clock.advance(60_000);
    expect((await volume())?.status).to.equal('Available');
  });

  it('a teardown leaves volumes of running workloads attached, and reports it', async () => {
    await create();
    const instance = instanceOf('i-0');
    expect((await volumeManager.ensure(instance, mount)).type).to.equal('mounted');
    expect((await volume())?.status).to.equal('Bound');
    await volumeManager.tearDown(1_000, new Set([claimOf(instance)]));
    expect(driver.calls).to.not.include('detach');
    expect((await volume())?.status).to.equal('Bound');
    expect(lines.at(-1)).to.include({ msg: 'Volume teardown incomplete', released: 0, total: 1 });
    await volumeManager.tearDown(1_000, new Set());
    expect((await volume())?.status).to.equal('Available');
    expect(lines.at(-1)).to.include({ msg: 'All volumes torn down', detached: 1, total: 1 });
  });

  it('of two claims on a ReadWriteOnce volume one waits', async () => {
    await create();
    const outcomes = await Promise.allSettled(
      ['a', 'b'].map((name) => volumeManager.ensure(instanceOf(name), mount)),
    );
    const mounted = outcomes.filter((o) => o.status === 'fulfilled' && o.value.type === 'mounted');
    expect(mounted).to.have.length(1);
    expect((await volume())?.attachments).to.have.length(1);
  });

  it('a slow attach delays no others, and its claim is notified at its end', async () => {
    await create();
    const instance = instanceOf('i-0');
    let release: () => void = () => undefined;
    driver.attaching = new Promise((resolve) => (release = resolve));
    const changedClaims: string[] = [];
    volumeManager.onChange((claim) => changedClaims.push(claim));
    const waiting = volumeManager.ensure(instance, mount);
    await clock.advance(2_000);
    expect(await waiting).to.include({ type: 'waiting', reason: 'Attaching' });
    const again = volumeManager.ensure(instance, mount);
    await clock.advance(2_000);
    expect(await again).to.include({ reason: 'Attaching' });
    expect(driver.calls.filter((call) => call === 'attach')).to.have.length(1);
    release();
    await eventually('the claim to be notified', () => changedClaims.includes('default/i-0'));
    expect((await volumeManager.ensure(instance, mount)).type).to.equal('mounted');
    expect((await volume())?.status).to.equal('Bound');
  });

  it('specification 5.3: parameters are resolved again at detach, and fall back to those used at mount', async () => {
    const sealer = new Sealer(randomBytes(32));
    const { namespace } = key;
    const store2 = store;
    const write = async (value: string, version: number): Promise<void> => {
      const place = { namespace, name: 'token', version };
      const data = { key: sealer.seal(value, placeOf(place, 'key')) };
      const current = await store2.get(secrets, { namespace, name: 'token' });
      if (current) await store2.update(secrets, { ...current, ...place, data });
      else await store2.create(secrets, { ...place, data });
      await settle();
    };
    const resolver = parameterResolver(manager.informer(secrets).lister, sealer);
    const drivers = driver.registry();
    const ports = { store, manager, clock, policy: defaultPolicy };
    const parts = { ...ports, drivers, resolver, node: 'n', mountRoot: '/m' };
    const logger = keepingLogger(lines);
    const directory = await mkdtemp(join(tmpdir(), 'kedge-used-'));
    const used = () => new UsedParameters({ directory, sealer, logger });
    const mine = new VolumeManager({ ...parts, logger, mayMount: false, used: used() });
    await create();
    const current = (await volume())!;
    await store.update(volumes, { ...current, parameters: { token: 'secret:token/key' } });
    await settle();
    const instance = instanceOf('i-0');
    await write('old', 1);
    await mine.ensure(instance, mount);
    await write('rotated', 2);
    await mine.releaseAll('default/i-0');
    expect(driver.tokenOf('detach')).to.equal('rotated');
    await mine.ensure(instance, mount);
    await store.deleteByName(secrets, { namespace, name: 'token' });
    await settle();
    await mine.releaseAll('default/i-0');
    expect(driver.tokenOf('detach')).to.equal('rotated');
    expect((await volume())?.status).to.equal('Available');
    expect(await readdir(directory)).to.deep.equal([]);
    // The same after a kill of the daemon between attach and detach. No file has the parameter in plaintext.
    await write('last', 3);
    await mine.ensure(instance, mount);
    const [file = ''] = await readdir(directory);
    expect(await readFile(join(directory, file), 'utf8')).to.not.contain('last');
    await store.deleteByName(secrets, { namespace, name: 'token' });
    await settle();
    const after = new VolumeManager({ ...parts, logger, mayMount: false, used: used() });
    await after.releaseAll('default/i-0');
    expect(driver.tokenOf('detach')).to.equal('last');
    await rm(directory, { recursive: true });
  });

  it('V13, V20: an attach of unknown outcome is Stalled on its node until the next call determines it', async () => {
    await create();
    driver.failsOn = { attach: 'Timeout' };
    const instance = instanceOf('i-0');
    const ensure = () => volumeManager.ensure(instance, mount);
    expect(await ensure()).to.include({ type: 'waiting', retry: true });
    expect(await volume()).to.include({ status: 'Stalled' });
    expect((await volume())?.attachments?.[0]).to.include({
      claim: 'default/i-0',
      state: 'Reserved',
    });
    await clock.advance(10 * 60_000);
    expect(driver.calls, 'the controller leaves it to the node').to.not.include('observe');
    driver.failsOn = {};
    expect((await ensure()).type).to.equal('mounted');
    expect(await volume()).to.include({ status: 'Bound', failureMessage: '' });
    driver.failsOn = { detach: 'Timeout' };
    await volumeManager.releaseAll('default/i-0').catch(() => undefined);
    expect(await volume(), 'V18').to.include({ status: 'Stalled', boundNode: 'n' });
    driver.failsOn = {};
    await volumeManager.releaseAll('default/i-0');
    expect(await volume()).to.include({ status: 'Available', boundNode: '' });
  });

  it('V19: a force-detached volume is detached for its node, and Available then', async () => {
    await create();
    const instance = instanceOf('i-0');
    await volumeManager.ensure(instance, mount);
    const { attachments = [] } = (await volume())!;
    driver.failsOn = { detach: 'Unavailable' };
    await store.updateStatus(volumes, key, {
      attachments: attachments.map((a) => ({ ...a, state: 'Detaching' as const })),
    });
    await clock.advance(3_000);
    expect(await volume()).to.include({ status: 'Bound' });
    driver.failsOn = {};
    await clock.advance(60_000);
    expect(await volume()).to.include({ status: 'Available', boundNode: '', boundClaim: '' });
  });

  it('two volumes on one real path are one storage: the second claim waits and reports the reason', async () => {
    await create();
    await store.create(volumes, {
      namespace: 'default',
      name: 'twin',
      storageClassName: 'c',
      size: '1Gi',
      accessMode: 'ReadWriteOnce',
    });
    await settle();
    const outcomes = await Promise.all(
      ['v', 'twin'].map((name) => {
        const instance = { name: `${name}-0`, namespace: 'default', service: name, ordinal: 0 };
        const mount = { name: 'd', mountPath: '/d', claim: { name } };
        return volumeManager.ensure({ ...instance, template: {} } as Instance, mount);
      }),
    );
    expect(outcomes.map((outcome) => outcome.type)).to.deep.equal(['mounted', 'waiting']);
    const [, second] = outcomes;
    expect(second?.type === 'waiting' && second.message).to.contain(
      'have the same handle h, which is in use by instance default/v-0',
    );
    await volumeManager.releaseAll('default/v-0');
    const instance = { name: 'twin-0', namespace: 'default', service: 'twin', ordinal: 0 };
    const mount = { name: 'd', mountPath: '/d', claim: { name: 'twin' } };
    const now = await volumeManager.ensure({ ...instance, template: {} } as Instance, mount);
    expect(now.type).to.equal('mounted');
  });
});
