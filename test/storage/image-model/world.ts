import { type Random, seededRandom } from 'kedge';
import { type Snapshot, snapshots, type Volume, volumes } from '@kedge/controllers';
import { instanceOf } from '../../drivers/node.js';
import { Claims } from './claims.js';
import {
  checkEmpty,
  checkHealed,
  checkImages,
  isSettled,
  waitingForSnapshots,
} from './invariants.js';
import type { Killed, Machine } from './machine.js';
import { imageClass, namespace } from './prepare-store.js';

/** The unit of all sizes. */
const unitMebibytes = 16;
const claims = 3;
/** Number of steps of the node within which planned events happen: more than an attach, a mount or a copy needs. */
const planWithin = 30;

function keyOf({ name }: Volume | Snapshot): { readonly namespace: string; readonly name: string } {
  return { namespace, name };
}

type Action = () => Promise<unknown>;

/**
 * Random users of image volumes on one machine. The daemon and its programs are killed at any of their steps,
 * and the storage root is unmounted at times. Drivers, node journal and the agent's volume manager are the real
 * ones.
 */
export class ImageWorld {
  readonly log: string[] = [];
  readonly #machine: Machine;
  readonly #random: Random;
  readonly #claims: Claims;
  /** The records that were acknowledged to the workload when a snapshot was requested, by the snapshot's name. */
  readonly #promised = new Map<string, number>();
  readonly #copied = new Set<string>();
  #names = 0;

  constructor(seed: number, machine: Machine) {
    this.#random = seededRandom(seed);
    this.#machine = machine;
    this.#claims = new Claims(machine, (line) => this.log.push(line));
  }

  /** Snapshots that were Ready, and volumes that were created from one: `snapshot <uid>`, `volume <uid>`. */
  get copied(): ReadonlySet<string> {
    return this.#copied;
  }

  async begin(): Promise<void> {
    const machine = this.#machine;
    await machine.begin();
    for (let n = 0; n < 3; n += 1) await this.#begin(() => this.#create());
    await machine.until(async () =>
      (await machine.volumes()).every(({ status }) => status === 'Available'),
    );
    await this.#begin(() => this.#bind());
    await machine.pass(5_000);
  }

  #pick<T>(items: readonly T[]): T | undefined {
    return items[Math.floor(this.#random.next() * items.length)];
  }

  #chance(percent: number): boolean {
    return this.#random.next() * 100 < percent;
  }

  /** The actions of users and the faults of the node. */
  async act(): Promise<void> {
    const then = (first: Action, second: Action) => (): Promise<unknown> =>
      this.#both(first, second);
    const bind: Action = () => this.#bind();
    const unbind: Action = () => this.#unbind();
    const snapshot: Action = () => this.#snapshot();
    const kill: Action = () => this.#killAtStep();
    const actions: readonly (readonly [string, Action])[] = [
      ['create', () => this.#create()],
      ['create', () => this.#create()],
      ['bind', bind],
      ['bind', bind],
      ['bind, snapshot at a step', then(bind, snapshot)],
      ['snapshot, bind at a step', then(snapshot, bind)],
      ['unbind, snapshot at a step', then(unbind, snapshot)],
      ['snapshot, unbind at a step', then(snapshot, unbind)],
      ['snapshot', snapshot],
      ['unbind', unbind],
      ['resize', () => this.#resize()],
      ['restore', () => this.#restore()],
      ['delete volume', () => this.#deleteVolume()],
      ['delete snapshot', () => this.#deleteSnapshot()],
      ['kill at a step', kill],
      ['kill at a step', kill],
      ['snapshot, kill at a step', then(snapshot, kill)],
      ['kill', () => Promise.resolve(this.#kill(this.#whom()))],
      ['root goes', () => Promise.resolve(this.#rootGoes())],
      ['root goes at a step', () => Promise.resolve(this.#later('root', () => this.#rootGoes()))],
      ['root is back', () => Promise.resolve(this.#rootComesBack())],
    ];
    const [name, action] = this.#pick(actions) ?? ['nothing', () => Promise.resolve()];
    this.log.push(name);
    await this.#begin(action);
    const patienceMs = this.#chance(70) ? 3_000 : 60_000;
    await this.#machine.pass(this.#random.next() * patienceMs);
    if (!this.#machine.alive) await this.#machine.boot();
    await this.#retry();
    // An unmounted disk is mounted again after a limited time.
    if (this.#machine.root !== 'here' && this.#chance(40)) this.#rootComesBack();
  }

  /** Starts a call; calls of a killed process never return. */
  #begin(action: Action): Promise<void> {
    return this.#machine.begun(
      action().then(
        () => undefined,
        (error: unknown) => void this.log.push(`  ${String(error)}`),
      ),
    );
  }

  /** Plans an event immediately before or after one of the next steps of the node. */
  #later(what: string, act: () => void): void {
    const steps = 1 + Math.floor(this.#random.next() * planWithin);
    const when = this.#chance(50) ? 'before' : 'after';
    this.#machine.plan(steps, when, (step) => {
      this.log.push(`  ${what} ${when} ${step}`);
      act();
    });
  }

  /** The second one begins at one of the steps that the first one causes. */
  async #both(first: Action, second: Action): Promise<void> {
    this.#later('the second', () => void this.#begin(second));
    await first();
  }

  async #create(source?: Snapshot): Promise<void> {
    const unit = unitMebibytes * 1024 ** 2;
    const least = source ? Math.ceil(Number(source.restoreSize) / unit) : 0;
    const units = Math.max(1 + Math.floor(this.#random.next() * 3), least);
    await this.#machine.create(volumes, {
      name: `v${(this.#names += 1)}`,
      namespace,
      storageClassName: imageClass,
      size: `${units * unitMebibytes}Mi`,
      accessMode: 'ReadWriteOnce',
      ...(source ? { source: { snapshot: source.name } } : {}),
    });
  }

  async #restore(): Promise<void> {
    const all = await this.#machine.snapshots();
    const snapshot = this.#pick(all.filter(({ status }) => status === 'Ready'));
    if (snapshot) await this.#create(snapshot);
  }

  async #resize(): Promise<void> {
    const volume = this.#pick(await this.#machine.volumes());
    if (!volume) return;
    const size = `${Number.parseInt(volume.size, 10) + unitMebibytes}Mi`;
    await this.#machine.change(volumes, keyOf(volume), { size });
  }

  async #snapshot(): Promise<void> {
    const all = await this.#machine.volumes();
    const used = all.filter(({ attachments = [] }) => attachments.length > 0);
    const volume = this.#pick(used.length > 0 && this.#chance(70) ? used : all);
    if (!volume) return;
    const name = `s${(this.#names += 1)}`;
    this.#promised.set(name, this.#machine.workloads.acknowledged(volume.metadata.uid));
    await this.#machine.create(snapshots, { name, namespace, source: { volume: volume.name } });
  }

  async #bind(): Promise<void> {
    const all = await this.#machine.volumes();
    const free = all.filter(({ attachments = [] }) => attachments.length === 0);
    const volume = this.#pick(this.#chance(80) ? free : all);
    const instance = instanceOf(`i${Math.floor(this.#random.next() * claims)}`);
    if (volume) await this.#claims.bind(instance, volume);
  }

  async #unbind(): Promise<void> {
    const claim = this.#pick(this.#claims.names);
    if (claim !== undefined) await this.#claims.release(claim);
  }

  /** The retries of the agent. */
  async #retry(): Promise<void> {
    for (const again of this.#claims.pending()) await this.#begin(again);
  }

  async #deleteVolume(): Promise<void> {
    const volume = this.#pick(await this.#machine.volumes());
    if (volume) await this.#machine.delete(volumes, keyOf(volume));
  }

  async #deleteSnapshot(): Promise<void> {
    const snapshot = this.#pick(await this.#machine.snapshots());
    if (snapshot) await this.#machine.delete(snapshots, keyOf(snapshot));
  }

  #whom(): Killed {
    return this.#pick(['both', 'both', 'daemon', 'child'] as const) ?? 'both';
  }

  #kill(whom: Killed): void {
    this.log.push(`  kill ${whom}`);
    this.#machine.kill(whom);
  }

  #killAtStep(): Promise<void> {
    const whom = this.#whom();
    this.#later('kill', () => this.#kill(whom));
    return Promise.resolve();
  }

  /** Unmounts the disk of the storage root, which the kernel refuses while it is in use, or removes its mark. */
  #rootGoes(): void {
    const state = this.#chance(50) ? 'unmounted' : 'unmarked';
    if (this.#machine.setRoot(state)) this.log.push(`  root is ${state}`);
  }

  #rootComesBack(): void {
    if (this.#machine.root !== 'here') this.log.push('  root is back');
    this.#machine.setRoot('here');
  }

  async check(): Promise<void> {
    const machine = this.#machine;
    await machine.verify(() => checkImages(machine, this.#promised));
    // A planned kill may be met here: the check is repeated then.
    await machine.verify(async () => {
      for (const { status, metadata } of await machine.snapshots())
        if (status === 'Ready') this.#copied.add(`snapshot ${metadata.uid}`);
      for (const { status, source, metadata } of await machine.volumes())
        if (source && status === 'Available') this.#copied.add(`volume ${metadata.uid}`);
    });
  }

  /** The disk is mounted, kills stop and all claims are released: the system must settle. */
  async heal(): Promise<void> {
    this.log.push('heal');
    const machine = this.#machine;
    this.#rootComesBack();
    machine.forgetPlans();
    if (!machine.alive) await machine.boot();
    // All requests are in the store by then.
    await machine.pass(10_000);
    await machine.until(async () => {
      for (const claim of this.#claims.names) await this.#begin(() => this.#claims.release(claim));
      return this.#claims.names.length === 0 && (await this.#isAtRest());
    });
    if (this.#claims.names.length > 0)
      throw new Error(`${this.#claims.names.join(', ')} still hold volumes`);
    await this.check();
    await machine.verify(() => checkHealed(machine));
  }

  /** Whether no further change is expected. */
  async #isAtRest(): Promise<boolean> {
    const [ofVolumes, ofSnapshots] = [
      await this.#machine.volumes(),
      await this.#machine.snapshots(),
    ];
    const leaving = [...ofVolumes, ...ofSnapshots].some(
      ({ metadata }) => metadata.deletionRequestedAt !== undefined,
    );
    const waiting = waitingForSnapshots(ofVolumes, ofSnapshots);
    return (
      !leaving &&
      ofVolumes.every((volume) => volume.status === 'Available' || waiting.has(volume)) &&
      // A snapshot whose source was deleted is Failed permanently.
      ofSnapshots.every((snapshot) => isSettled(snapshot, waiting))
    );
  }

  /** Deletes everything. */
  async end(): Promise<void> {
    this.log.push('end');
    const machine = this.#machine;
    await machine.until(async () => {
      const [ofVolumes, ofSnapshots] = [await machine.volumes(), await machine.snapshots()];
      // A snapshot is kept until the volumes from it are created.
      for (const one of ofSnapshots) await this.#begin(() => machine.delete(snapshots, keyOf(one)));
      if (ofSnapshots.length === 0)
        for (const one of ofVolumes) await this.#begin(() => machine.delete(volumes, keyOf(one)));
      return ofVolumes.length + ofSnapshots.length === 0;
    });
    await machine.verify(() => checkEmpty(machine));
    await machine.close();
  }
}
