import { MemoryEngine, type ObjectStore, openStore, type Random, seededRandom } from 'kedge';
import { FakeClock, settle } from 'kedge/testing';
import {
  namespaceFinalizer,
  namespaces,
  nodes,
  type Snapshot,
  snapshots,
  storageClasses,
  UsedParameters,
  type Volume,
  volumes,
} from '@kedge/controllers';
import { nodeTopologyKey } from '@kedge/driver-sdk';
import { instanceOf } from '../../drivers/node.js';
import { ModelApi } from '../model-api.js';
import { modelSealer } from '../process.js';
import { Claims } from './claims.js';
import { FakeHost, type JournalTexts, type Killed } from './fake-host.js';
import { FakeKernel } from './fake-kernel.js';
import { checkEmpty, checkHealed, checkImages } from './invariants.js';
import { localDriver, NodeLife } from './node-life.js';
import { Workloads } from './workloads.js';

const namespace = 'default';
const gibibyte = 1024 ** 3;
const claims = 3;
/** Steps of the node within which planned things happen: more than an attach, a mount or a copy takes. */
const planWithin = 30;

function keyOf({ name }: Volume | Snapshot): { readonly namespace: string; readonly name: string } {
  return { namespace, name };
}

type Action = () => Promise<unknown>;

/**
 * Random users of image volumes on one node, whose daemon and programs die at any of their steps and whose storage root
 * goes away: the drivers, the node journal and the agent's volume manager are the real ones, the node is a fake.
 */
export class ImageWorld {
  readonly clock = new FakeClock();
  readonly kernel = new FakeKernel();
  readonly log: string[] = [];
  readonly workloads: Workloads;
  readonly texts: JournalTexts = new Map();
  /** What was acknowledged to the workload when a snapshot was asked for, by the snapshot's name. */
  readonly promised = new Map<string, number>();
  readonly #used = new UsedParameters();
  readonly #random: Random;
  readonly #seed: number;
  readonly #claims: Claims;
  #store!: ObjectStore;
  #api!: ModelApi;
  #life!: NodeLife;
  #names = 0;

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = seededRandom(seed);
    const workloads = new Workloads(this.kernel, this.clock);
    this.workloads = workloads;
    this.#claims = new Claims({
      volumeManager: () => this.#life.process.volumeManager,
      workloads,
      note: (line) => this.log.push(line),
    });
  }

  get store(): ObjectStore {
    return this.#store;
  }

  async begin(): Promise<void> {
    const { clock, kernel } = this;
    const random = this.#random;
    this.#store = await openStore({ engine: new MemoryEngine(), clock });
    const store = this.#store;
    // The API asks drivers what they can do, and nothing else.
    const idle = new FakeHost(kernel, this.texts, clock, seededRandom(this.#seed));
    const drivers = await localDriver(idle);
    this.#api = new ModelApi({ store, drivers, sealer: modelSealer, clock, random });
    await store.create(namespaces, {
      name: namespace,
      metadata: { finalizers: [namespaceFinalizer] },
    });
    await store.create(nodes, { name: 'n1', labels: { [nodeTopologyKey]: 'n1' } });
    await store.create(storageClasses, {
      name: 'image',
      driver: 'local',
      reclaimPolicy: 'delete',
      parameters: { backing: 'image' },
    });
    await this.boot();
    for (let n = 0; n < 3; n += 1) await this.#during(this.#create());
    await this.clock.advance(10_000);
    await this.#begin(() => this.#bind());
    await this.clock.advance(5_000);
  }

  /** A daemon starts. */
  async boot(): Promise<void> {
    const { clock, kernel, texts } = this;
    const random = seededRandom(this.#seed + (this.#names += 1));
    const used = this.#used;
    const store = this.#store;
    this.#life = await NodeLife.of({ kernel, texts, store, used, clock, random });
    await this.#during(this.#life.start());
    await this.#retry();
  }

  /** Time goes on until the work is done. */
  async #during(work: Promise<unknown>): Promise<void> {
    let isOver = false;
    const end = (): void => void (isOver = true);
    work.then(end, end);
    for (let turn = 0; turn < 1_000 && !isOver; turn += 1) await this.clock.advance(250);
    if (!isOver) throw new Error('the work has not ended after 250 s');
    await work;
  }

  #pick<T>(items: readonly T[]): T | undefined {
    return items[Math.floor(this.#random.next() * items.length)];
  }

  #chance(percent: number): boolean {
    return this.#random.next() * 100 < percent;
  }

  async volumes(): Promise<readonly Volume[]> {
    return (await this.#store.list(volumes)).items;
  }

  async snapshots(): Promise<readonly Snapshot[]> {
    return (await this.#store.list(snapshots)).items;
  }

  /** What a user does, and what befalls the node. */
  async act(): Promise<void> {
    const actions: readonly (readonly [string, Action])[] = [
      ['create', () => this.#create()],
      ['create', () => this.#create()],
      ['bind', () => this.#bind()],
      ['bind', () => this.#bind()],
      [
        'bind, snapshot at a step',
        () =>
          this.#both(
            () => this.#bind(),
            () => this.#snapshot(),
          ),
      ],
      [
        'snapshot, bind at a step',
        () =>
          this.#both(
            () => this.#snapshot(),
            () => this.#bind(),
          ),
      ],
      [
        'unbind, snapshot at a step',
        () =>
          this.#both(
            () => this.#unbind(),
            () => this.#snapshot(),
          ),
      ],
      [
        'snapshot, unbind at a step',
        () =>
          this.#both(
            () => this.#snapshot(),
            () => this.#unbind(),
          ),
      ],
      ['snapshot', () => this.#snapshot()],
      ['unbind', () => this.#unbind()],
      ['resize', () => this.#resize()],
      ['restore', () => this.#restore()],
      ['delete volume', () => this.#deleteVolume()],
      ['delete snapshot', () => this.#deleteSnapshot()],
      ['kill at a step', () => this.#killAtStep()],
      ['kill at a step', () => this.#killAtStep()],
      [
        'snapshot, kill at a step',
        () =>
          this.#both(
            () => this.#snapshot(),
            () => this.#killAtStep(),
          ),
      ],
      ['kill', () => Promise.resolve(this.#kill(this.#whom()))],
      ['root goes', () => Promise.resolve(this.#rootGoes())],
      [
        'root goes at a step',
        () => Promise.resolve(this.#later('root goes', () => this.#rootGoes())),
      ],
      ['root is back', () => Promise.resolve(this.#rootComesBack())],
    ];
    const [name, action] = this.#pick(actions) ?? ['nothing', () => Promise.resolve()];
    this.log.push(name);
    await this.#begin(action);
    const patienceMs = this.#chance(70) ? 3_000 : 60_000;
    await this.clock.advance(this.#random.next() * patienceMs);
    if (!this.#life.process.alive) await this.boot();
    else await this.#retry();
    // A disk that is away stays away for a while only.
    if (this.kernel.root !== 'here' && this.#chance(40)) this.#rootComesBack();
  }

  /** Begins something; what a dead process was asked never answers. */
  #begin(action: Action): Promise<void> {
    const done = action().then(
      () => undefined,
      (error: unknown) => void this.log.push(`  ${String(error)}`),
    );
    return Promise.race([done, settle()]);
  }

  /** Plans something for right before or after one of the next steps of the node. */
  #later(what: string, act: () => void): void {
    const steps = 1 + Math.floor(this.#random.next() * planWithin);
    const when = this.#chance(50) ? 'before' : 'after';
    this.#life.host.plan(steps, when, (step) => {
      this.log.push(`  ${what} ${when} ${step}`);
      act();
    });
  }

  /** The second one begins at one of the steps that the first one leads to. */
  async #both(first: Action, second: Action): Promise<void> {
    this.#later('the second', () => void this.#begin(second));
    await first();
  }

  async #create(source?: Snapshot): Promise<void> {
    const least = source ? Math.ceil(Number(source.restoreSize) / gibibyte) : 0;
    const gib = Math.max(1 + Math.floor(this.#random.next() * 3), least);
    await this.#api.create(volumes, {
      name: `v${(this.#names += 1)}`,
      namespace,
      storageClassName: 'image',
      size: `${gib}Gi`,
      accessMode: 'ReadWriteOnce',
      ...(source ? { source: { snapshot: source.name } } : {}),
    });
  }

  async #restore(): Promise<void> {
    const ready = (await this.snapshots()).filter(({ status }) => status === 'Ready');
    const snapshot = this.#pick(ready);
    if (snapshot) await this.#create(snapshot);
  }

  async #resize(): Promise<void> {
    const volume = this.#pick(await this.volumes());
    if (!volume) return;
    const size = `${Number.parseInt(volume.size, 10) + 1}Gi`;
    await this.#api.change(volumes, keyOf(volume), { size });
  }

  async #snapshot(): Promise<void> {
    const all = await this.volumes();
    const used = all.filter(({ attachments = [] }) => attachments.length > 0);
    const volume = this.#pick(used.length > 0 && this.#chance(70) ? used : all);
    if (!volume) return;
    const name = `s${(this.#names += 1)}`;
    this.promised.set(name, this.workloads.acknowledged(volume.metadata.uid));
    await this.#api.create(snapshots, { name, namespace, source: { volume: volume.name } });
  }

  async #bind(): Promise<void> {
    const free = (await this.volumes()).filter(({ attachments = [] }) => attachments.length === 0);
    const volume = this.#pick(this.#chance(80) ? free : await this.volumes());
    const instance = instanceOf(`i${Math.floor(this.#random.next() * claims)}`);
    if (volume) await this.#claims.bind(instance, volume);
  }

  async #unbind(): Promise<void> {
    const claim = this.#pick(this.#claims.names);
    if (claim !== undefined) await this.#claims.release(claim);
  }

  /** What the agent does again by itself. */
  async #retry(): Promise<void> {
    for (const again of this.#claims.pending()) await this.#begin(again);
  }

  async #deleteVolume(): Promise<void> {
    const volume = this.#pick(await this.volumes());
    if (volume) await this.#api.delete(volumes, keyOf(volume));
  }

  async #deleteSnapshot(): Promise<void> {
    const snapshot = this.#pick(await this.snapshots());
    if (snapshot) await this.#api.delete(snapshots, keyOf(snapshot));
  }

  #whom(): Killed {
    return this.#pick(['both', 'both', 'daemon', 'child'] as const) ?? 'both';
  }

  #kill(whom: Killed): void {
    this.log.push(`  ${whom} killed, ${this.#life.host.children} programs run`);
    this.#life.kill(whom);
  }

  #killAtStep(): Promise<void> {
    const whom = this.#whom();
    const life = this.#life;
    this.#later(`kill ${whom}`, () => {
      if (life === this.#life) this.#kill(whom);
    });
    return Promise.resolve();
  }

  /** Its disk is unmounted, which the kernel refuses while it is used, or it no longer says whose it is. */
  #rootGoes(): void {
    const state = this.#chance(50) ? 'unmounted' : 'unmarked';
    if (state === 'unmounted' && this.#life.host.holdsRoot) return;
    this.kernel.root = state;
    this.log.push(`  root is ${state}`);
  }

  #rootComesBack(): void {
    if (this.kernel.root !== 'here') this.log.push('  root is back');
    this.kernel.root = 'here';
  }

  async check(): Promise<void> {
    await checkImages(this);
  }

  /** The disk is there, nothing is killed any more, everybody lets go: everything settles. */
  async heal(): Promise<void> {
    this.log.push('heal');
    this.#rootComesBack();
    this.#life.host.forgetPlans();
    if (!this.#life.process.alive) await this.boot();
    for (let tries = 0; tries < 20 && this.bound.length > 0; tries += 1) {
      for (const claim of this.bound) await this.#begin(() => this.#claims.release(claim));
      await this.clock.advance(60_000);
    }
    await this.clock.advance(20 * 60_000);
    await this.check();
    await checkHealed(this);
  }

  /** Everything is deleted. */
  async end(): Promise<void> {
    this.log.push('end');
    const requests = async (): Promise<void> => {
      for (const snapshot of await this.snapshots())
        await this.#api.delete(snapshots, keyOf(snapshot));
      await this.clock.advance(60_000);
      for (const volume of await this.volumes()) await this.#api.delete(volumes, keyOf(volume));
    };
    await this.#during(requests());
    await this.clock.advance(20 * 60_000);
    await checkEmpty(this);
    await this.#store.close();
  }

  /** Claims that want a volume, or still have one. */
  get bound(): readonly string[] {
    return this.#claims.names;
  }
}
