/**
 * What every driver must hold to, free of any test runner: each case is a name and a function that
 * rejects when the driver does not. Run them with mocha (`for (const c of driverConformance(...))
 * it(c.name, c.run)`), or with `kedge driver test`.
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type {
  CallContext,
  Driver,
  Parameters,
  ProvisionRequest,
  SnapshotIdentity,
  VolumeIdentity,
} from './driver.js';
import { DriverError, type DriverErrorKind } from './errors.js';

/** What the suite is run with. */
export interface ConformanceOptions {
  /** A new instance each time: what it knows must be found again by another one, as after a crash. */
  readonly driver: () => Driver | Promise<Driver>;
  /** Plaintext, as the driver gets them. */
  readonly parameters?: Parameters;
  /** Size of volumes; default 16 MiB. */
  readonly sizeBytes?: bigint;
  /** Name of the node that this runs on; default "conformance". */
  readonly node?: string;
  /** Whether volumes may be mounted here; without it what needs content is left out. Default true. */
  readonly mounts?: boolean;
  /** What is left at the provider, by any name; the suite demands that it ends as it began. */
  readonly inventory?: () => Promise<readonly string[]>;
}

/** One demand on a driver. */
export interface ConformanceCase {
  readonly name: string;
  /** @throws Error that says what the driver did and what it should have done. */
  readonly run: () => Promise<void>;
}

function demand(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(message);
}

async function errorOf(promise: Promise<unknown>): Promise<DriverErrorKind | undefined> {
  try {
    await promise;
    return undefined;
  } catch (error) {
    demand(error instanceof DriverError, `it threw ${String(error)}, no DriverError`);
    return error.kind;
  }
}

/** One volume's life in a case: makes calls, and takes everything away at the end. */
class Trial {
  readonly #options: ConformanceOptions;
  readonly #undo: (() => Promise<unknown>)[] = [];
  readonly signal = new AbortController().signal;

  constructor(options: ConformanceOptions) {
    this.#options = options;
  }

  driver(): Promise<Driver> {
    return Promise.resolve(this.#options.driver());
  }

  get sizeBytes(): bigint {
    return this.#options.sizeBytes ?? 16n * 1024n * 1024n;
  }

  context(volume: VolumeIdentity, signal = this.signal): CallContext {
    const { parameters = {}, node = 'conformance' } = this.#options;
    return { volume, parameters, node, signal };
  }

  identity(): VolumeIdentity {
    const uid = randomUUID();
    const volume = { uid, name: `conformance-${uid.slice(0, 8)}`, namespace: 'default' };
    this.onEnd(async () =>
      (await this.driver()).delete({ ...this.context(volume), handle: undefined }),
    );
    return volume;
  }

  snapshotIdentity(): SnapshotIdentity {
    const uid = randomUUID();
    const snapshot = { uid, name: `conformance-${uid.slice(0, 8)}`, namespace: 'default' };
    const { parameters = {}, node = 'conformance' } = this.#options;
    this.onEnd(async () =>
      (await this.driver()).deleteSnapshot({
        snapshot,
        handle: undefined,
        parameters,
        node,
        signal: this.signal,
      }),
    );
    return snapshot;
  }

  async request(volume: VolumeIdentity): Promise<ProvisionRequest> {
    const [accessMode = 'ReadWriteOnce'] = (await this.driver()).capabilities().accessModes;
    return { ...this.context(volume), sizeBytes: this.sizeBytes, accessMode, topology: {} };
  }

  async provision(volume = this.identity()): Promise<{ volume: VolumeIdentity; handle: string }> {
    const { handle } = await (await this.driver()).provision(await this.request(volume));
    return { volume, handle };
  }

  /** Attaches, mounts, works with the content, and takes it away again. */
  async mounted<T>(
    { volume, handle }: { readonly volume: VolumeIdentity; readonly handle: string },
    work: (path: string) => Promise<T>,
    mayFormat = true,
  ): Promise<T> {
    const driver = await this.driver();
    const call = { ...this.context(volume), handle };
    const folder = await mkdtemp(join(tmpdir(), 'kedge-conformance-'));
    const target = join(folder, 'target');
    try {
      const { devicePath } = await driver.attach(call);
      const mount = { ...call, devicePath, target, readOnly: false, mayFormat };
      const { path } = await driver.mount(mount);
      const again = await driver.mount(mount);
      demand(again.path === path, `a second mount answers ${again.path}, the first ${path}`);
      return await work(path);
    } finally {
      await driver.unmount({ ...call, target });
      await driver.unmount({ ...call, target });
      await driver.detach(call);
      await driver.detach(call);
      await rm(folder, { recursive: true });
    }
  }

  onEnd(undo: () => Promise<unknown>): void {
    this.#undo.push(undo);
  }

  async end(): Promise<void> {
    for (const undo of this.#undo.reverse()) await undo();
  }
}

type Body = (trial: Trial) => Promise<void>;

const lifecycle: readonly (readonly [string, Body])[] = [
  [
    'makes one volume however often it is asked, also by several at once, and observes it',
    async (trial) => {
      const volume = trial.identity();
      const request = await trial.request(volume);
      const made = await Promise.all(
        [1, 2, 3].map(async () => (await trial.driver()).provision(request)),
      );
      const handles = new Set(made.map((result) => result.handle));
      demand(handles.size === 1, `three calls gave ${handles.size} handles`);
      const [first] = made;
      demand(first !== undefined && first.handle !== '', 'the handle is empty');
      demand(first.sizeBytes >= trial.sizeBytes, `it made ${first.sizeBytes} bytes`);
      const context = trial.context(volume);
      for (const handle of [first.handle, undefined]) {
        const found = await (await trial.driver()).observe({ ...context, handle });
        demand(found.handle === first.handle, `observe answers handle ${found.handle}`);
      }
    },
  ],
  [
    'gives two volumes of one name different handles',
    async (trial) => {
      const driver = await trial.driver();
      if (!driver.capabilities().ownsData) return;
      const one = await trial.provision();
      const two = { ...trial.identity(), name: one.volume.name, namespace: 'another' };
      const { handle } = await trial.provision(two);
      demand(handle !== one.handle, `both have ${handle}`);
    },
  ],
  [
    'deletes by handle and without one, again and again, and what was never made; then it is NotFound',
    async (trial) => {
      const driver = await trial.driver();
      await driver.delete({ ...trial.context(trial.identity()), handle: undefined });
      const { volume, handle } = await trial.provision();
      const context = trial.context(volume);
      await driver.delete({ ...context, handle });
      await driver.delete({ ...context, handle });
      await driver.delete({ ...context, handle: undefined });
      if (!driver.capabilities().ownsData) return;
      const kind = await errorOf(driver.observe({ ...context, handle }));
      demand(kind === 'NotFound', `observe of what is deleted answers ${kind ?? 'a volume'}`);
      const attached = await errorOf(driver.attach({ ...context, handle }));
      demand(attached === 'NotFound', `attach of what is deleted answers ${attached ?? 'success'}`);
    },
  ],
  [
    'detaches and unmounts what is not there',
    async (trial) => {
      const driver = await trial.driver();
      const { volume, handle } = await trial.provision();
      const call = { ...trial.context(volume), handle };
      await driver.unmount({ ...call, target: join(tmpdir(), `kedge-${volume.uid}`) });
      await driver.detach(call);
    },
  ],
  [
    'leaves nothing behind when the handle of what it made was never stored',
    async (trial) => {
      const volume = trial.identity();
      await trial.provision(volume);
      // The crash: nobody knows the handle.
      const driver = await trial.driver();
      await driver.delete({ ...trial.context(volume), handle: undefined });
      if (!driver.capabilities().ownsData) return;
      const kind = await errorOf(driver.observe({ ...trial.context(volume), handle: undefined }));
      demand(kind === 'NotFound', `it is still there: ${kind ?? 'found'}`);
    },
  ],
  [
    'a call that is cancelled fails as a DriverError or succeeds, and can be made again',
    async (trial) => {
      const volume = trial.identity();
      const request = await trial.request(volume);
      const cancelled = new AbortController();
      cancelled.abort();
      const driver = await trial.driver();
      await errorOf(driver.provision({ ...request, signal: cancelled.signal }));
      const { handle } = await driver.provision(request);
      demand(handle !== '', 'the handle is empty');
    },
  ],
  [
    'refuses a handle that is not of the volume, or does not touch it',
    async (trial) => {
      const driver = await trial.driver();
      if (!driver.capabilities().ownsData) return;
      const mine = await trial.provision();
      const other = await trial.provision();
      await errorOf(driver.delete({ ...trial.context(other.volume), handle: mine.handle }));
      const found = await driver.observe({ ...trial.context(mine.volume), handle: mine.handle });
      demand(found.handle === mine.handle, 'a call about one volume took away another');
    },
  ],
  [
    'says what is wrong with parameters it does not know, and calls nothing for it',
    async (trial) => {
      const driver = await trial.driver();
      const found = driver.validateParameters({ 'no-such-parameter': 'x' }, { level: 'class' });
      demand(
        found.some((v) => v.key === 'no-such-parameter'),
        'an unknown parameter passes',
      );
    },
  ],
];

const growth: readonly (readonly [string, Body])[] = [
  [
    'grows, says the size reached, and never shrinks',
    async (trial) => {
      const driver = await trial.driver();
      if (!driver.capabilities().expand) {
        const { volume, handle } = await trial.provision();
        const call = { ...trial.context(volume), handle, sizeBytes: trial.sizeBytes * 2n };
        const kind = await errorOf(driver.expand(call));
        demand(kind === 'Unsupported', `it says it can't grow, and answers ${kind ?? 'success'}`);
        return;
      }
      const { volume, handle } = await trial.provision();
      const call = { ...trial.context(volume), handle };
      const wanted = trial.sizeBytes * 2n;
      for (const sizeBytes of [wanted, wanted]) {
        const reached = await driver.expand({ ...call, sizeBytes });
        demand(reached.sizeBytes >= wanted, `it grew to ${reached.sizeBytes}, not ${wanted}`);
      }
      await errorOf(driver.expand({ ...call, sizeBytes: trial.sizeBytes }));
      const found = await driver.observe({ ...call });
      demand((found.sizeBytes ?? wanted) >= wanted, `it shrank to ${found.sizeBytes ?? 0n}`);
    },
  ],
];

const content: readonly (readonly [string, Body])[] = [
  [
    'keeps its content over unmount, detach and a new start',
    async (trial) => {
      const made = await trial.provision();
      await trial.mounted(made, (path) => writeFile(join(path, 'kept'), 'kept'));
      const text = await trial.mounted(made, (path) => readFile(join(path, 'kept'), 'utf8'), false);
      demand(text === 'kept', `it reads ${JSON.stringify(text)}`);
    },
  ],
  [
    'snapshots are of their time, outlive their source, and come back in a volume that may be larger',
    async (trial) => {
      const driver = await trial.driver();
      if (!driver.capabilities().snapshots) return;
      const source = await trial.provision();
      await trial.mounted(source, (path) => writeFile(join(path, 'a'), 'before'));
      const snapshot = trial.snapshotIdentity();
      const call = { ...trial.context(source.volume), handle: source.handle, snapshot };
      const made = await Promise.all([driver.createSnapshot(call), driver.createSnapshot(call)]);
      demand(made[0].handle === made[1].handle, 'two calls made two snapshots');
      const { handle } = made[0];
      for (let state = made[0]; !state.ready; )
        state = await driver.observeSnapshot({ ...call, handle });
      await trial.mounted(source, (path) => writeFile(join(path, 'a'), 'after'), false);
      await driver.delete({ ...trial.context(source.volume), handle: source.handle });
      const volume = trial.identity();
      const request = { ...(await trial.request(volume)), sizeBytes: trial.sizeBytes * 2n };
      const restored = await driver.restore({ ...request, snapshot: { ...snapshot, handle } });
      demand(restored.sizeBytes >= trial.sizeBytes * 2n, `it has ${restored.sizeBytes} bytes`);
      const text = await trial.mounted(
        { volume, handle: restored.handle },
        (path) => readFile(join(path, 'a'), 'utf8'),
        false,
      );
      demand(text === 'before', `the restored volume reads ${JSON.stringify(text)}`);
      await driver.deleteSnapshot({ ...call, handle });
      await driver.deleteSnapshot({ ...call, handle });
      const kind = await errorOf(driver.observeSnapshot({ ...call, handle }));
      demand(kind === 'NotFound', `a deleted snapshot is ${kind ?? 'found'}`);
    },
  ],
];

/** The cases that a driver must pass; `inventory`, where given, is compared before and after each. */
export function driverConformance(options: ConformanceOptions): readonly ConformanceCase[] {
  const bodies = [...lifecycle, ...growth, ...(options.mounts === false ? [] : content)];
  return bodies.map(([name, body]) => ({
    name,
    run: async () => {
      const before = [...((await options.inventory?.()) ?? [])].sort();
      const trial = new Trial(options);
      try {
        await body(trial);
      } finally {
        await trial.end();
      }
      const after = [...((await options.inventory?.()) ?? [])].sort();
      const left = after.filter((item) => !before.includes(item));
      demand(left.length === 0, `it left behind: ${left.join(', ')}`);
    },
  }));
}
