import { type EmbeddedStore, MemoryEngine, modify, openStore } from 'kedge';
import { type CallContext, memoryOperations, untilOver } from '@kedge/driver-sdk';
import { pauseOn, type Transport, type TransportRequest } from '@kedge/driver-sdk/provider';
import { storageClasses, type Volume, volumes } from '@kedge/controllers';
import {
  driverNames,
  elsewhere,
  EmulatedCloud,
  here,
  places,
  transportTo,
} from '../sweep/emulated-cloud.js';
import type { ProviderName } from '../index.js';
import { Leader, type Step } from './leader.js';

/**
 * How the first leader ends, at one of its steps. `killed`: at once. `beside`: it goes on, beside the other one.
 * `paused`: its process gets no time until the other one has finished. `late`: only the step itself takes that long.
 */
export const ends = ['killed', 'beside', 'paused', 'late'] as const;

/**
 * The change of the class at the creation whose answer is lost: of the place of volumes, or of other parameters. With
 * `backAgain` the place is changed back at the takeover.
 */
export const changes = ['place', 'shape', 'backAgain'] as const;

/** A takeover of leadership at one step. */
export interface Takeover {
  readonly change: (typeof changes)[number];
  readonly end: (typeof ends)[number];
  /** Whether the other leader begins before the step is executed, or after it and before its result. */
  readonly moment: 'before' | 'after';
  /** Number of the step of the first leader, from 1; 0 for no takeover. */
  readonly at: number;
}

/** The outcome of a takeover. */
export interface Outcome {
  /** The steps of the first leader. */
  readonly steps: readonly string[];
  /** The step of the takeover. */
  readonly step: string;
  readonly problems: readonly string[];
}

/** Parameters of a class that differ from those of the tests: in the place of volumes, or not. */
const others = {
  cloud1: { place: { region: 'nyc3' }, shape: { fsType: 'xfs' } },
  cloud2: { place: { region: 'hel1' }, shape: { fsType: 'xfs' } },
  cloud3: { place: { availabilityZone: 'eu-central-1b' }, shape: { volumeType: 'gp2' } },
  cloud4: { place: { zone: 'europe-west3-b' }, shape: { diskType: 'pd-ssd' } },
} as const;

function otherPlaceOf(provider: ProviderName): string {
  const [place = ''] = Object.values<string>(others[provider].place);
  return place;
}

const key = { namespace: 'shop', name: 'v' };
const written = 'what a container wrote';
const secondMs = 1_000;
/** Time without answers after the creation. */
const silentMs = 5_000;
/** Maximum duration of a wait, seconds; a driver waits up to a minute for a list to show a volume. */
const waitMax = 1_800;
/** Time for which the first leader goes on, beside the other one. */
const besideMs = 20 * 60_000;

function isCreation({ method, url, body = '' }: TransportRequest): boolean {
  return (
    body.includes('Action=CreateVolume&') ||
    (method === 'POST' && /\/(volumes|disks)$/.test(url.pathname))
  );
}

/** A provider, a store and the processes that work on one volume. */
class Scene {
  readonly cloud: EmulatedCloud;
  readonly store: EmbeddedStore;
  readonly #before: Readonly<Record<string, string>>;
  readonly #after: Readonly<Record<string, string>>;
  #lostAt: number | undefined;

  constructor(cloud: EmulatedCloud, store: EmbeddedStore, change: Takeover['change']) {
    this.cloud = cloud;
    this.store = store;
    const own = cloud.parameters;
    const other = { ...own, ...others[cloud.provider][change === 'shape' ? 'shape' : 'place'] };
    [this.#before, this.#after] = change === 'backAgain' ? [own, other] : [other, own];
  }

  async begin(): Promise<void> {
    const { store, cloud } = this;
    const { faults } = cloud.emulator;
    const isSilent = (): boolean =>
      this.#lostAt !== undefined && cloud.clock.now() - this.#lostAt < silentMs;
    faults.add({ on: isSilent, nth: 1, fault: { type: 'afterSuccess' } });
    faults.add({ on: isSilent, times: 1_000, fault: { type: 'before' } });
    await store.create(storageClasses, {
      ...{ name: 'c', driver: driverNames[cloud.provider], reclaimPolicy: 'delete' },
      parameters: this.#before,
    });
    await store.create(volumes, {
      ...{ ...key, storageClassName: 'c', size: '10Gi', accessMode: 'ReadWriteOnce' },
      metadata: { finalizers: ['svc.io/volume'] },
    });
  }

  /** Changes the class to its parameters before, or after, the lost answer. */
  async change(to: 'before' | 'after'): Promise<void> {
    const parameters = to === 'before' ? this.#before : this.#after;
    await modify(this.store, storageClasses, { name: 'c' }, (found) => ({ ...found, parameters }));
  }

  /**
   * The requests of a leader. The answer of the first creation is lost, and the class changes at that moment. For a
   * while no request is answered: a read would find the volume before its controller sees the change.
   */
  readonly transport: Transport = async (request) => {
    const inner = transportTo(this.cloud.emulator);
    if (this.isLost || !isCreation(request)) return inner(request);
    this.#lostAt = this.cloud.clock.now();
    const answer = await inner(request);
    await this.change('after');
    return answer;
  };

  /** The parameters of the class, before and after. */
  get classes(): readonly Readonly<Record<string, string>>[] {
    return [this.#before, this.#after];
  }

  get isLost(): boolean {
    return this.#lostAt !== undefined;
  }

  volume(): Promise<Volume | undefined> {
    return this.store.get(volumes, key);
  }

  async pause(ms: number): Promise<void> {
    await pauseOn(this.cloud.clock, ms, new AbortController().signal);
  }

  async until(what: string, holds: () => Promise<boolean>): Promise<void> {
    for (let wait = 0; wait < waitMax; wait += 1) {
      if (await holds()) return;
      await this.pause(secondMs);
    }
    const { status, conditions, lastOperation } = (await this.volume()) ?? {};
    throw new Error(`${what}: ${JSON.stringify({ status, conditions, lastOperation })}`);
  }

  /** Attaches the volume for as long as `use` takes, as an instance does. */
  async #used(use: (node: string, link: string) => Promise<void>): Promise<void> {
    const { cloud } = this;
    const volume = await this.volume();
    const { uid = '' } = volume?.metadata ?? {};
    const { handle = '' } = volume ?? {};
    const isElsewhere = Object.values(volume?.topology ?? {}).includes(
      otherPlaceOf(cloud.provider),
    );
    const node = isElsewhere ? elsewhere : here;
    const driver = await cloud.driver(undefined, { node });
    const context: CallContext = {
      volume: { uid, ...key },
      parameters: { ...cloud.parameters, ...volume?.driverParameters },
      ...{ node, signal: new AbortController().signal, operations: memoryOperations() },
    };
    const request = { ...context, handle };
    const wait = (ms: number): Promise<void> => this.pause(ms);
    const { devicePath } = (await untilOver(() => driver.attach(request), wait)) as {
      devicePath: string;
    };
    await use(node, devicePath.slice(devicePath.lastIndexOf('/') + 1));
    await untilOver(() => driver.detach(request), wait);
  }

  write(): Promise<void> {
    return this.#used((node, link) => this.cloud.disks.write(node, link, written));
  }

  read(): Promise<void> {
    return this.#used(async (node, link) => {
      const found = await this.cloud.disks.read(node, link);
      if (found !== written) throw new Error(`the disk has ${found}`);
    });
  }

  async resources(): Promise<readonly string[]> {
    const all = await this.cloud.emulator.inventory();
    return all.filter((line) => line.startsWith('volume '));
  }
}

/** Lets another leader take over at one step of the first, and checks the resources at the provider in the end. */
export async function takeOver(
  provider: ProviderName,
  folder: string,
  takeover: Takeover,
): Promise<Outcome> {
  const cloud = new EmulatedCloud(provider, folder, {
    instances: [
      { name: here, place: places[provider] },
      { name: elsewhere, place: otherPlaceOf(provider) },
    ],
  });
  const store = await openStore({ engine: new MemoryEngine(), clock: cloud.clock });
  const scene = new Scene(cloud, store, takeover.change);
  const run = new Run(scene, takeover);
  const problems: string[] = [];
  await cloud.clock.during(() => run.run()).catch((error: unknown) => problems.push(String(error)));
  run.end();
  problems.push(...cloud.emulator.violations);
  await cloud.emulator.close();
  await store.close();
  return { steps: run.steps, step: run.step, problems };
}

/** One takeover. */
class Run {
  readonly steps: string[] = [];
  step = '';
  readonly #scene: Scene;
  readonly #takeover: Takeover;
  #first: Leader | undefined;
  #second: Leader | undefined;
  #taken: Promise<void> | undefined;
  /** Whether the first leader sent a creation when another one led: no request can be taken back. */
  #createsLate = false;

  constructor(scene: Scene, takeover: Takeover) {
    this.#scene = scene;
    this.#takeover = takeover;
  }

  end(): void {
    this.#first?.kill();
    this.#second?.kill();
  }

  async run(): Promise<void> {
    const { store, transport } = this.#scene;
    await this.#scene.begin();
    const requests: Transport = (request) => {
      if (this.#taken && isCreation(request)) this.#createsLate = true;
      return transport(request);
    };
    this.#first = await Leader.start(
      this.#scene.cloud,
      { store, transport: requests },
      (step, act) => this.#around(step, act),
    );
    await this.#scene.until('no takeover and not Available', async () => {
      if (this.#taken) return true;
      return this.#scene.isLost && (await this.#isAvailable());
    });
    // The first leader had fewer steps.
    if (!this.#taken) return;
    await this.#taken;
    await this.#scene.pause(besideMs);
    const made = await this.#scene.resources();
    const most = this.#createsLate ? 2 : 1;
    if (made.length < 1 || made.length > most)
      throw new Error(`at the provider: ${made.join(', ') || 'nothing'}`);
    if (!(await this.#isAvailable()))
      throw new Error(`it is ${(await this.#scene.volume())?.status}`);
    await this.#scene.read();
    await store.deleteByName(volumes, key);
    await this.#scene.until('not deleted', async () => !(await this.#scene.volume()));
    await this.#requireNoneLeft();
  }

  /** Checks that a volume that remains was created late, and is listed as an orphan. */
  async #requireNoneLeft(): Promise<void> {
    const { cloud } = this.#scene;
    const left = await this.#scene.resources();
    if (left.length > (this.#createsLate ? 1 : 0))
      throw new Error(`left behind: ${left.join(', ')}`);
    if (left.length === 0) return;
    const driver = await cloud.driver();
    const { signal } = new AbortController();
    const found = new Set<string>();
    // A class lists the volumes of its place.
    for (const parameters of this.#scene.classes) {
      const listing = await driver.orphans?.({ parameters, node: here, signal });
      for (const { handle, cluster } of listing?.resources ?? [])
        if (cluster === 'cluster-1') found.add(handle);
    }
    if (found.size !== 1) throw new Error(`not listed: ${left.join(', ')}`);
  }

  async #isAvailable(): Promise<boolean> {
    return (await this.#scene.volume())?.status === 'Available';
  }

  async #around<T>({ number, what }: Step, act: () => Promise<T>): Promise<T> {
    this.steps.push(what);
    if (number !== this.#takeover.at) return act();
    this.step = what;
    if (this.#takeover.moment === 'before') {
      await this.#hold();
      return act();
    }
    const result = await act().then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    await this.#hold();
    if ('error' in result) throw result.error;
    return result.value;
  }

  async #hold(): Promise<void> {
    const first = this.#first;
    const { end } = this.#takeover;
    first?.depose();
    if (end === 'paused') first?.pause();
    this.#taken = this.#takeOver();
    // Its failure is reported where it is awaited.
    this.#taken.catch(() => undefined);
    if (end === 'killed') {
      first?.kill();
      await new Promise(() => undefined);
    }
    if (end === 'beside') return;
    await this.#taken;
    first?.resume();
  }

  async #takeOver(): Promise<void> {
    const { cloud, store, transport } = this.#scene;
    if (this.#takeover.change === 'backAgain' && this.#scene.isLost)
      await this.#scene.change('before');
    this.#second = await Leader.start(cloud, { store, transport });
    await this.#scene.until('not Available after the takeover', async () => {
      if (!this.#scene.isLost) return false;
      return this.#isAvailable();
    });
    await this.#scene.write();
  }
}
