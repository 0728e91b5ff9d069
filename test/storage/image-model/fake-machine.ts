import {
  effectRecords,
  MemoryEngine,
  type ObjectKey,
  type ObjectStore,
  openStore,
  seededRandom,
} from 'kedge';
import { FakeClock, settle } from 'kedge/testing';
import {
  type Instance,
  type Snapshot,
  snapshots,
  UsedParameters,
  type Volume,
  type VolumeMount,
  volumes,
} from '@kedge/controllers';
import { ModelApi, type Shown } from '../model-api.js';
import { modelSealer } from '../process.js';
import { FakeHost, type JournalTexts } from './fake-host.js';
import { FakeKernel, rootPath } from './fake-kernel.js';
import type { Brought, Facts, Killed, Machine, MadeKind, Records, RootState } from './machine.js';
import { NodeLife, type NodeParts, registryOf, soundNode } from './node-life.js';
import { prepareStore } from './prepare-store.js';
import { Workloads } from './workloads.js';

const pieceMs = 250;
const minute = 60_000;
/** Maximum time until the machine is at rest. */
const restMs = 40 * minute;

/** A machine in memory with a fake clock. */
export class FakeMachine implements Machine {
  readonly workloads: Workloads;
  readonly #clock = new FakeClock();
  readonly #kernel = new FakeKernel();
  readonly #texts: JournalTexts = new Map();
  readonly #used = new UsedParameters();
  readonly #seed: number;
  readonly #parts: NodeParts;
  #store!: ObjectStore;
  #api!: ModelApi;
  #life!: NodeLife;
  #lives = 0;

  /** @param parts of its daemons */
  constructor(seed: number, parts = soundNode) {
    this.#seed = seed;
    this.#parts = parts;
    this.workloads = new Workloads(this.#kernel, this.#clock);
  }

  get alive(): boolean {
    return this.#life.process.alive;
  }

  get root(): RootState {
    return this.#kernel.root;
  }

  async begin(): Promise<void> {
    const clock = this.#clock;
    this.#store = await openStore({ engine: new MemoryEngine(), clock });
    const store = this.#store;
    // The API only reads the capabilities of drivers.
    const random = seededRandom(this.#seed + 1_000_000);
    const host = new FakeHost(this.#kernel, this.#texts, clock, random);
    const drivers = registryOf(await this.#parts.driver(host));
    this.#api = new ModelApi({ store, drivers, sealer: modelSealer, clock, random });
    await prepareStore(store);
    await this.boot();
  }

  async boot(): Promise<void> {
    const random = seededRandom(this.#seed + (this.#lives += 1));
    this.#life = await NodeLife.of({
      kernel: this.#kernel,
      texts: this.#texts,
      store: this.#store,
      used: this.#used,
      clock: this.#clock,
      random,
      parts: this.#parts,
    });
    await this.#during(this.#life.start());
  }

  /** Advances time until the work is done. */
  async #during<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const end = (): void => void (isOver = true);
    work.then(end, end);
    for (let ms = 0; ms < restMs && !isOver; ms += pieceMs) await this.#clock.advance(pieceMs);
    if (!isOver) throw new Error(`the work has not ended after ${restMs} ms`);
    return work;
  }

  kill(whom: Killed): void {
    this.#life.kill(whom);
  }

  plan(stepsFromNow: number, when: 'before' | 'after', act: (step: string) => void): void {
    const life = this.#life;
    life.host.plan(stepsFromNow, when, (step) => {
      if (life === this.#life) act(step);
    });
  }

  forgetPlans(): void {
    this.#life.host.forgetPlans();
  }

  setRoot(state: RootState): boolean {
    if (state === 'unmounted' && this.#life.host.holdsRoot) return false;
    this.#kernel.root = state;
    return true;
  }

  create(kind: MadeKind, object: Shown): Promise<unknown> {
    return this.#api.create(kind, object);
  }

  change(kind: MadeKind, key: ObjectKey, fields: Shown): Promise<unknown> {
    return this.#api.change(kind, key, fields);
  }

  delete(kind: MadeKind, key: ObjectKey): Promise<unknown> {
    return this.#api.delete(kind, key);
  }

  async volumes(): Promise<readonly Volume[]> {
    return (await this.#store.list(volumes)).items;
  }

  async snapshots(): Promise<readonly Snapshot[]> {
    return (await this.#store.list(snapshots)).items;
  }

  async operations(): Promise<readonly string[]> {
    return (await this.#store.list(effectRecords)).items.map(({ of, key }) => `${of} ${key}`);
  }

  async ensure(instance: Instance, mount: VolumeMount): Promise<Brought> {
    return this.#life.process.volumeManager.ensure(instance, mount);
  }

  async letGo(claim: string): Promise<boolean> {
    const { volumeManager } = this.#life.process;
    return (
      (await volumeManager.releaseWithSoftTimeout(claim)) && volumeManager.held(claim).length === 0
    );
  }

  facts(): Promise<Facts> {
    const kernel = this.#kernel;
    const image = (path: string): string => path.slice(rootPath.length + 1);
    const imageOf = (device: string): string => image(kernel.loops.get(device)?.path ?? '');
    // Those below /tmp exist only while a file system is thawed through them, and are not in the journal.
    const lasting = kernel.mounts.filter(({ target }) => !target.startsWith('/tmp/'));
    const states = [...this.#texts.values()].map(
      (text) => JSON.parse(text) as Readonly<Record<string, string>>,
    );
    const named = states.map(({ type, device, file, target }) => {
      const place = file === undefined ? (device ?? target ?? '') : image(file);
      return `${type} ${place}`;
    });
    return Promise.resolve({
      wrongs: kernel.wrongs,
      frozen: [...kernel.frozen],
      loops: [...kernel.loops.keys()].map(imageOf),
      mounts: new Map(lasting.map(({ device, target }) => [target, imageOf(device)])),
      journal: new Set(named),
      files: kernel.storedPaths().map(image),
    });
  }

  records(image: string): Promise<Records | undefined> {
    const file = this.#kernel.stored(`${rootPath}/${image}`);
    return Promise.resolve(file?.whole ? file.system : undefined);
  }

  pass(ms: number): Promise<void> {
    return this.#clock.advance(ms);
  }

  begun(work: Promise<void>): Promise<void> {
    return Promise.race([work, settle()]);
  }

  async until(holds: () => Promise<boolean>): Promise<void> {
    for (let ms = 0; ms < restMs && !(await this.#during(holds())); ms += minute)
      await this.#clock.advance(minute);
  }

  verify(check: () => Promise<void>): Promise<void> {
    return check();
  }

  async close(): Promise<void> {
    await this.#store.close();
  }
}
