import { expect } from 'chai';
import {
  effectRecords,
  isDeleting,
  MemoryEngine,
  openStore,
  type ObjectStore,
  type Random,
  seededRandom,
} from 'kedge';
import { FakeClock, settle } from 'kedge/testing';
import {
  claimOf,
  type Instance,
  namespaceFinalizer,
  namespaces,
  placeOf,
  secrets,
  UsedParameters,
  services,
  type Snapshot,
  snapshots,
  storageClasses,
  type Volume,
  volumes,
} from '@kedge/controllers';
import type { DriverRegistry } from '@kedge/driver-sdk';
import { instanceOf } from '../drivers/node.js';
import { AdmissionActions, changingNamespace, zone } from './admission-actions.js';
import { checkAdmission } from './admission-invariants.js';
import { writeIllegalPhase } from './illegal-phase.js';
import { ModelApi } from './model-api.js';
import { ModelProcess, modelSealer } from './process.js';
import { retainedIn } from './retained.js';
import { slowDriver } from './slow-driver.js';
import { type Caller, UnreliableProvider } from './unreliable-provider.js';

const gibibyte = 1024 ** 3;
const namespace = 'default';

function keyOf({ namespace: place, name }: Volume | Snapshot): {
  readonly namespace: string;
  readonly name: string;
} {
  return { namespace: place, name };
}

/** Random users of volumes and snapshots over a failing provider and a daemon that is killed. */
export class World {
  readonly clock = new FakeClock();
  readonly provider: UnreliableProvider;
  readonly log: string[] = [];
  readonly #used = new UsedParameters();
  readonly #random: Random;
  readonly #seed: number;
  #store!: ObjectStore;
  #process!: ModelProcess;
  #api!: ModelApi;
  #writes!: AdmissionActions;
  #names = 0;
  #retained: ReadonlySet<string> = new Set();
  readonly #bound = new Map<string, Instance>();
  /** Phases that the store accepted although no table has the move. */
  readonly #illegal: string[] = [];

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = seededRandom(seed);
    this.provider = new UnreliableProvider(this.#random, this.clock);
  }

  async begin(): Promise<void> {
    const { clock } = this;
    const random = this.#random;
    this.#store = await openStore({ engine: new MemoryEngine(), clock });
    const store = this.#store;
    const driver = this.provider.driver({ alive: true, onDeath: () => undefined });
    const drivers = { names: [driver.name], get: () => Promise.resolve(driver) };
    this.#api = new ModelApi({ store, drivers, sealer: modelSealer, clock, random });
    this.#writes = new AdmissionActions({
      api: this.#api,
      store,
      random,
      clock,
      fresh: (prefix) => `${prefix}${(this.#names += 1)}`,
      note: (line) => this.log.push(line),
    });
    for (const name of [namespace, changingNamespace]) {
      const finalizers = [namespaceFinalizer];
      await store.create(namespaces, { name, metadata: { finalizers } });
    }
    for (const reclaimPolicy of ['delete', 'retain'] as const)
      await this.#store.create(storageClasses, {
        name: reclaimPolicy,
        driver: 'unreliable',
        reclaimPolicy,
        parameters: { token: 'secret:token.default.svc/key', ...zone },
      });
    await this.#createSecret();
    this.#retained = retainedIn(this.#store);
    await this.#boot();
  }

  async #createSecret(): Promise<void> {
    const place = { name: 'token', namespace, version: 1 };
    const data = { key: modelSealer.seal('value', placeOf(place, 'key')) };
    await this.#store.create(secrets, { ...place, data }).catch(() => undefined);
  }

  async #boot(): Promise<void> {
    const { clock, provider } = this;
    const random = seededRandom(this.#seed + 7);
    const drivers = (caller: Caller): DriverRegistry => {
      const driver = slowDriver(provider.driver(caller), random);
      return { names: [driver.name], get: () => Promise.resolve(driver) };
    };
    const parts = { store: this.#store, drivers, used: this.#used, clock, random };
    this.#process = new ModelProcess(parts);
    const process = this.#process;
    const killed = new Promise<void>((resolve) => process.onDeath(resolve));
    // A daemon that is killed during its start never reports that it started.
    await Promise.race([process.manager.start(), killed]);
  }

  #pick<T>(items: readonly T[]): T | undefined {
    return items[Math.floor(this.#random.next() * items.length)];
  }

  async volumes(): Promise<readonly Volume[]> {
    return (await this.#store.list(volumes)).items;
  }

  async snapshots(): Promise<readonly Snapshot[]> {
    return (await this.#store.list(snapshots)).items;
  }

  /**
   * Executes a random action: a call of a user, an illegal write, a loss of data at the provider, or a crash of the
   * process. Conflicts and refusals are expected. Then advances the clock, and restarts a killed process.
   */
  async act(): Promise<void> {
    const actions: readonly (readonly [string, () => Promise<unknown>])[] = [
      ['create', () => this.#create()],
      ['create', () => this.#create()],
      ['resize', () => this.#resize()],
      ['snapshot', () => this.#snapshot()],
      ['restore', () => this.#restore()],
      ['bind', () => this.#bind()],
      ['bind', () => this.#bind()],
      ['unbind', () => this.#unbind()],
      ['delete volume', () => this.#deleteVolume()],
      ['delete snapshot', () => this.#deleteSnapshot()],
      ['snapshot and delete', () => this.#snapshotAndDelete()],
      ['restore and delete', () => this.#restoreAndDelete()],
      ['change class', () => this.#changeClass()],
      ['secret', () => this.#changeSecret()],
      ['secret', () => this.#createSecret()],
      ['wipe', () => this.#wipe()],
      ['write an illegal phase', () => this.#writeIllegalPhase()],
      ['several writes at once', () => this.#writes.several()],
      ['several writes at once', () => this.#writes.several()],
      ['delete namespace', () => this.#writes.cascade()],
      ['crash', () => this.#crash()],
      ['crash at a write', () => this.#crashAtWrite()],
    ];
    const [name, action] = this.#pick(actions) ?? ['nothing', () => Promise.resolve()];
    this.log.push(name);
    const done = action().catch((error: unknown) => this.log.push(`  ${String(error)}`));
    // Calls of a killed process never return.
    await Promise.race([done, settle()]);
    // Often while the previous action is in progress.
    const patienceMs = this.#random.next() < 0.7 ? 3_000 : 60_000;
    await this.clock.advance(this.#random.next() * patienceMs);
    if (!this.#process.alive) await this.#boot();
  }

  async #create(source?: Snapshot): Promise<void> {
    const gib = 1 + Math.floor(this.#random.next() * 4);
    const least = source ? Math.ceil(Number(source.restoreSize) / gibibyte) : 0;
    const shop = this.#random.next() < 0.3 ? changingNamespace : namespace;
    await this.#api.create(volumes, {
      name: `v${(this.#names += 1)}`,
      namespace: source?.namespace ?? shop,
      storageClassName: this.#random.next() < 0.7 ? 'delete' : 'retain',
      size: `${Math.max(gib, least)}Gi`,
      accessMode: 'ReadWriteOnce',
      ...(source ? { source: { snapshot: source.name } } : {}),
    });
  }

  async #resize(): Promise<void> {
    const volume = this.#pick(await this.volumes());
    if (!volume) return;
    const size = `${Number.parseInt(volume.size, 10) + 1}Gi`;
    await this.#api.change(volumes, keyOf(volume), { size });
  }

  async #snapshot(): Promise<void> {
    const volume = this.#pick(await this.volumes());
    if (volume) await this.#snapshotOf(volume);
  }

  async #snapshotOf(volume: Volume): Promise<void> {
    await this.#api.create(snapshots, {
      name: `s${(this.#names += 1)}`,
      namespace: volume.namespace,
      source: { volume: volume.name },
    });
  }

  async #restore(): Promise<void> {
    const ready = (await this.snapshots()).filter((snapshot) => snapshot.status === 'Ready');
    const snapshot = this.#pick(ready);
    if (snapshot) await this.#create(snapshot);
  }

  async #bind(): Promise<void> {
    const volume = this.#pick(await this.volumes());
    if (!volume) return;
    const user = instanceOf(`i${Math.floor(this.#random.next() * 3)}`);
    // Users of a volume are in its namespace, or in another one.
    const home = this.#random.next() < 0.3 ? changingNamespace : namespace;
    const instance = { ...user, namespace: home };
    const name = `${volume.name}.${volume.namespace}.svc`;
    const mount = { name: 'data', mountPath: '/data', claim: { name } };
    this.#bound.set(claimOf(instance), instance);
    const outcome = await this.#process.volumeManager.ensure(instance, mount);
    this.log.push(`  ${volume.name} for ${instance.name}: ${outcome.type}`);
  }

  async #unbind(): Promise<void> {
    const claim = this.#pick([...this.#bound.keys()]);
    if (claim) await this.#process.volumeManager.releaseAll(claim);
  }

  async #deleteVolume(): Promise<void> {
    const volume = this.#pick(await this.volumes());
    if (volume) await this.#delete(volume);
  }

  async #delete(volume: Volume): Promise<void> {
    await this.#api.delete(volumes, keyOf(volume));
  }

  async #snapshotAndDelete(): Promise<void> {
    const volume = this.#pick((await this.volumes()).filter((v) => v.status === 'Available'));
    if (!volume) return;
    await this.#snapshotOf(volume);
    await this.clock.advance(this.#random.next() * 4_000);
    const now = await this.#store.get(volumes, keyOf(volume));
    if (now) await this.#delete(now);
  }

  async #restoreAndDelete(): Promise<void> {
    const ready = (await this.snapshots()).filter((snapshot) => snapshot.status === 'Ready');
    const snapshot = this.#pick(ready);
    if (!snapshot) return;
    await this.#create(snapshot);
    await this.clock.advance(this.#random.next() * 4_000);
    await this.#api.delete(snapshots, keyOf(snapshot));
  }

  async #wipe(): Promise<void> {
    const volume = this.#pick((await this.volumes()).filter((v) => v.formatted === true));
    if (volume) this.provider.wipe(volume.metadata.uid);
  }

  async #writeIllegalPhase(): Promise<void> {
    const isVolume = this.#random.next() < 0.5;
    const all = isVolume ? await this.volumes() : await this.snapshots();
    const found = this.#pick<Volume | Snapshot>(all);
    if (!found) return;
    const kind = isVolume ? volumes : snapshots;
    const written = await writeIllegalPhase(this.#store, kind, found, this.#random);
    if (written !== undefined) this.#illegal.push(written);
  }

  async #deleteSnapshot(): Promise<void> {
    const snapshot = this.#pick(await this.snapshots());
    if (snapshot) await this.#api.delete(snapshots, keyOf(snapshot));
  }

  async #changeClass(): Promise<void> {
    const labels = { touched: String(this.clock.now()) };
    await this.#api.change(storageClasses, { name: 'delete' }, { labels });
  }

  async #changeSecret(): Promise<void> {
    const key = { namespace, name: 'token' };
    const there = await this.#store.get(secrets, key);
    if (there) await this.#store.deleteByName(secrets, key);
    else await this.#createSecret();
  }

  #crash(): Promise<void> {
    this.#process.kill();
    return Promise.resolve();
  }

  #crashAtWrite(): Promise<void> {
    this.#process.dieAfterWrites(1 + Math.floor(this.#random.next() * 3));
    return Promise.resolve();
  }

  /** Invariants of volumes and snapshots at every moment. */
  async check(): Promise<void> {
    expect(this.provider.wrongs).to.deep.equal([]);
    expect(this.#illegal, 'phases without a transition in the table').to.deep.equal([]);
    await checkAdmission(this.#store);
    for (const volume of await this.volumes()) {
      const { name, status = 'Pending', handle, boundNode, failureMessage, attachments } = volume;
      const label = `${name} ${status}`;
      const provisioned = status === 'Available' || status === 'Bound' || status === 'Released';
      // An object in deletion is removed after its disk was deleted.
      if (provisioned && volume.metadata.deletionRequestedAt === undefined) {
        expect(handle, `${label}: handle`).to.not.be.oneOf(['', undefined]);
        expect(this.provider.disks.has(volume.metadata.uid), `${label}: its disk`).to.equal(true);
      }
      const attachedState = status === 'Bound' || (status === 'Stalled' && boundNode);
      expect(Boolean(boundNode), `${label}: boundNode`).to.equal(Boolean(attachedState));
      const failed = status === 'Failed' || status === 'Stalled';
      expect(Boolean(failureMessage), `${label}: "${failureMessage ?? ''}"`).to.equal(failed);
      expect(attachments?.length ?? 0, `${label}: users`).to.be.at.most(1);
      const disk = this.provider.disks.get(volume.metadata.uid);
      if (disk) expect(disk.formats, `${label}: formats`).to.be.at.most(1);
      // The volume is attached where the store says; a detach in progress may be ahead of it.
      if (disk?.node && boundNode) expect(disk.node, `${label}: attached`).to.equal(boundNode);
    }
    for (const snapshot of await this.snapshots())
      if (snapshot.status === 'Ready')
        expect(this.provider.snapshots.has(snapshot.metadata.uid), snapshot.name).to.equal(true);
  }

  /** The provider recovers and the secret exists: the system must settle. */
  async heal(): Promise<void> {
    this.provider.faultsPercent = 0;
    await this.#createSecret();
    this.#process.dieAfterWrites(Infinity);
    if (!this.#process.alive) await this.#boot();
    for (const claim of this.#bound.keys()) await this.#releaseAll(claim);
    await this.clock.advance(40 * 60_000);
    await this.check();
    for (const { name, status, metadata, source, ...more } of await this.volumes())
      if (metadata.deletionRequestedAt === undefined && !source)
        expect(status, `${name} after healing: ${JSON.stringify(more)}`).to.equal('Available');
  }

  async #releaseAll(claim: string): Promise<void> {
    for (let tries = 0; tries < 10; tries += 1) {
      let isOver = false;
      const end = (): void => void (isOver = true);
      this.#process.volumeManager.releaseAll(claim).then(end, end);
      while (!isOver) await this.clock.advance(30_000);
      if (this.#process.volumeManager.held(claim).length === 0) return;
    }
    throw new Error(`${claim} still holds volumes`);
  }

  /** Deletes everything: only data of policy retain remains at the provider. */
  async end(): Promise<void> {
    const store = this.#store;
    for (const user of (await store.list(services)).items) {
      await store.update(services, { ...user, metadata: { ...user.metadata, finalizers: [] } });
      await store.deleteByName(services, user);
    }
    // Writes wait for their commit at times.
    const snapshotsGo = (await this.snapshots()).map((s) => this.#api.delete(snapshots, keyOf(s)));
    const gone = Promise.allSettled(snapshotsGo);
    await this.clock.advance(60_000);
    await gone;
    const volumesGo = Promise.allSettled((await this.volumes()).map((v) => this.#delete(v)));
    await this.clock.advance(60_000);
    const space = this.#api.delete(namespaces, { name: changingNamespace }, true);
    const settled = Promise.allSettled([volumesGo, space]);
    await this.clock.advance(40 * 60_000);
    await settled;
    // A snapshot that a volume waited for was kept for it.
    const kept = (await this.snapshots()).filter((s) => !isDeleting(s));
    if (kept.length > 0) {
      const last = Promise.allSettled(kept.map((s) => this.#api.delete(snapshots, keyOf(s))));
      await this.clock.advance(60_000);
      await last;
    }
    const places = (await store.list(namespaces)).items.map(({ name }) => name);
    expect(places, 'namespaces').to.deep.equal([namespace]);
    const left = [...(await this.volumes()), ...(await this.snapshots())];
    expect(
      left.map((o) => `${o.name} ${o.status ?? ''}`),
      'objects',
    ).to.deep.equal([]);
    const records = (await this.#store.list(effectRecords)).items.map(
      ({ of, key }) => `${of} ${key}`,
    );
    expect(records, 'records of operations').to.deep.equal([]);
    const disks = [...this.provider.disks.keys()].filter((uid) => !this.#retained.has(uid));
    expect(disks, 'disks without an owner').to.deep.equal([]);
    expect([...this.provider.snapshots.keys()], 'snapshots without an owner').to.deep.equal([]);
    await this.#store.close();
  }
}
