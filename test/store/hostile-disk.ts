import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  backupToFile,
  type EmbeddedStore,
  LevelEngine,
  type LevelEngineOptions,
  openStore,
  type Random,
  restoreBackup,
  seededRandom,
  StatusError,
} from 'kedge';
import { FakeClock, HostileFileSystem, loseNewestTable, modelDriver, settle } from 'kedge/testing';
import { entries } from './ledger.js';

/** Failing calls of the disk. */
export interface PlannedFault {
  /** The first failing call after the store is opened, from 1. */
  readonly at: number;
  readonly count: number;
  readonly type: 'error' | 'errorAfter';
  readonly code: 'ENOSPC' | 'EIO';
}

/** One run on one disk. */
export interface HostileRun {
  readonly seed: number;
  /** Openings of the store, each ended by closing, a kill or a power loss. */
  readonly lives: number;
  /** Number of operations after each opening. */
  readonly operations: number;
  /** Whether its files may be changed externally: a byte, or all of the last writes. Default false. */
  readonly damage?: boolean;
  /** A fault of the first process instead of the seed's faults; none happens later. */
  readonly fault?: PlannedFault;
  /** The engine under test; default the library's. */
  readonly engine?: (options: LevelEngineOptions) => LevelEngine;
}

/** The outcome of a run. */
export interface HostileOutcome {
  /** A broken guarantee; undefined if there is none. */
  readonly violation: string | undefined;
  /** Why the store refused damage; undefined if it never did. */
  readonly refused: string | undefined;
  readonly operations: number;
  readonly compactions: number;
  readonly faults: number;
  readonly restores: number;
}

/** The possible values of each name: one if the outcome of its last write is known, else several. */
type Possible = Map<string, ReadonlySet<number | undefined>>;

const directory = '/srv/new/data';
const names = Array.from({ length: 12 }, (_, n) => `t${n}`);
const attemptsMax = 60;

class Violation extends Error {}

class Run {
  readonly #run: HostileRun;
  readonly #random: Random;
  readonly #files: HostileFileSystem;
  readonly #folder: string;
  readonly #options: Omit<LevelEngineOptions, 'clock'>;
  #clock = new FakeClock();
  #store: EmbeddedStore | undefined;
  /** The possible states of the store: more than one after a failed restore. */
  #states: readonly Possible[] = [new Map()];
  #backup: Possible | undefined;
  #value = 0;
  /** Calls up to this number may fail. */
  #faultsUntil = 0;
  #damaged = false;
  operations = 0;
  compactions = 0;
  faults = 0;
  restores = 0;

  constructor(run: HostileRun, folder: string) {
    this.#run = run;
    this.#folder = folder;
    this.#random = seededRandom(run.seed);
    this.#files = new HostileFileSystem({ random: this.#random, names: 'last' });
    const driver = modelDriver({ files: this.#files, random: this.#random });
    this.#options = { directory, fileSystem: this.#files, driver };
  }

  /** @returns why the store refused its directory after bytes were changed */
  async execute(): Promise<string | undefined> {
    for (let life = 0; life < this.#run.lives; life += 1) {
      const refused = await this.#open();
      if (refused !== undefined) return refused;
      await this.#check();
      this.#planFaults();
      await this.#live();
      await this.#end();
    }
    return undefined;
  }

  #pick<T>(items: readonly T[]): T {
    return items[Math.floor(this.#random.next() * items.length)] as T;
  }

  #engine(): LevelEngine {
    const options = { ...this.#options, clock: this.#clock };
    return this.#run.engine?.(options) ?? new LevelEngine(options);
  }

  async #open(): Promise<string | undefined> {
    for (let attempt = 0; ; attempt += 1) {
      this.#clock = new FakeClock(this.#clock.now());
      try {
        this.#store = await openStore({
          engine: this.#engine(),
          clock: this.#clock,
          random: this.#random,
          historyEvents: 20,
          historyAgeMs: -1,
          freeBytesFloor: 0,
        });
        return undefined;
      } catch (error) {
        if (this.#files.dead) this.#files.restart();
        const known = error instanceof StatusError ? error.code : '';
        if (this.#damaged && known === 'DataLoss') return String(error);
        if (attempt >= attemptsMax || this.#files.calls > this.#faultsUntil + 500)
          throw new Violation(`it does not open: ${String(error)}`);
      }
    }
  }

  /** The stored values are acknowledged, or may have been written. */
  async #check(): Promise<void> {
    const store = this.#opened;
    if (this.#files.calls < this.#faultsUntil) return;
    const found = new Map<string, number>();
    for (const entry of (await store.list(entries)).items) found.set(entry.name, entry.value ?? -1);
    const problems = this.#states.map((state) =>
      names.find((name) => !(state.get(name) ?? new Set([undefined])).has(found.get(name))),
    );
    const fitting = problems.indexOf(undefined);
    if (fitting < 0) {
      const [name = ''] = problems as string[];
      const expected = [...(this.#states[0]?.get(name) ?? [])].join(' or ');
      throw new Violation(`${name} is ${found.get(name)}, it was ${expected || 'never written'}`);
    }
    this.#states = [new Map(names.map((name) => [name, new Set([found.get(name)])]))];
    await store.verify().catch((error: unknown) => {
      if (this.#damaged) return;
      throw new Violation(`it does not verify: ${String(error)}`);
    });
  }

  get #opened(): EmbeddedStore {
    if (!this.#store) throw new Error('the store is not open');
    return this.#store;
  }

  #planFaults(): void {
    const { operations, fault } = this.#run;
    if (fault) {
      if (this.faults === 0) this.#fail(fault);
      return;
    }
    const chance = this.#random.next();
    if (chance < 0.2) return;
    const at = this.#files.calls + 1 + Math.floor(this.#random.next() * operations * 3);
    if (chance < 0.45) {
      this.#files.faultAt(at, { type: 'powerLoss' });
      this.#faultsUntil = at;
      this.faults += 1;
      return;
    }
    this.#fail({
      at: at - this.#files.calls,
      type: this.#pick(['error', 'errorAfter'] as const),
      code: this.#pick(['ENOSPC', 'EIO'] as const),
      count: this.#pick([1, 1, 2, 5, 20]),
    });
  }

  #fail({ at, count, type, code }: PlannedFault): void {
    const first = this.#files.calls + at;
    for (let n = 0; n < count; n += 1) this.#files.faultAt(first + n, { type, code });
    this.#faultsUntil = first + count;
    this.faults += 1;
  }

  async #live(): Promise<void> {
    // At times nothing is written: the earlier content must still be known at the next opening.
    const idle = this.#run.fault ? 0 : this.#run.damage ? 0.5 : 0.2;
    if (this.#random.next() < idle) return;
    for (let n = 0; n < this.#run.operations && !this.#files.dead; n += 1) {
      await this.#heal();
      const chosen = new Set([this.#pick(names), this.#pick(names), this.#pick(names)]);
      const writes = [...chosen].map((name) => this.#write(name));
      if (this.#random.next() < 0.06) {
        this.compactions += 1;
        writes.push(this.#opened.compact().catch(() => undefined));
        // Concurrent writes continue.
        if (this.#random.next() < 0.5) await settle();
        const others = names.filter((name) => !chosen.has(name));
        writes.push(this.#write(this.#pick(others)));
      }
      await Promise.all(writes);
      if (n % 10 === 0) await this.#clock.advance(300);
    }
  }

  async #heal(): Promise<void> {
    for (let attempt = 0; this.#opened.health().state === 'poisoned'; attempt += 1) {
      if (this.#files.dead) return;
      if (attempt > attemptsMax)
        throw new Violation(`it does not heal: ${JSON.stringify(this.#opened.health())}`);
      await this.#clock.advance(60_000);
      await settle();
    }
  }

  async #write(name: string): Promise<void> {
    const store = this.#opened;
    this.operations += 1;
    const exists = (await store.get(entries, { name })) !== undefined;
    const deletes = exists && this.#random.next() < 0.4;
    const value = deletes ? undefined : (this.#value += 1);
    try {
      if (deletes) await store.deleteByName(entries, { name });
      else if (exists) await store.overwrite(entries, { name, value: value ?? -1 });
      else await store.create(entries, { name, value: value ?? -1 });
      this.#possible(name, new Set([value]));
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      const before = this.#states[0]?.get(name) ?? new Set([undefined]);
      if (error.code === 'Unavailable') this.#possible(name, new Set([...before, value]));
      // A failed write became visible meanwhile: this one was refused, and changed nothing.
      else if (!['AlreadyExists', 'NotFound', 'Aborted'].includes(error.code)) throw error;
    }
  }

  #possible(name: string, values: ReadonlySet<number | undefined>): void {
    for (const state of this.#states) state.set(name, values);
  }

  /** Ends a process: closed, killed, or by a power loss; then its store may be restored, or damaged. */
  async #end(): Promise<void> {
    await settle();
    const how = this.#files.dead ? 'power loss' : this.#pick(['close', 'kill', 'power loss']);
    const intact = !this.#files.dead && this.#opened.health().state === 'serving';
    if (intact && this.#random.next() < 0.3) await this.#makeBackup();
    // The witness of the log's end is updated within a second: damage to later writes can't be distinguished from a
    // write that never happened.
    const damages = this.#run.damage === true && intact && this.#random.next() < 0.5;
    if (damages) await this.#clock.advance(2_000);
    if (damages) await settle();
    if (how === 'close') await this.#opened.close().catch(() => undefined);
    else if (how === 'power loss') this.#files.restart();
    this.#store = undefined;
    if (this.#backup && this.#random.next() < 0.25) await this.#restore(this.#backup);
    else if (damages) await this.#damage();
  }

  async #makeBackup(): Promise<void> {
    const store = this.#opened;
    await backupToFile(store, join(this.#folder, 'backup'));
    const items = (await store.list(entries)).items;
    const held = new Map(items.map((item) => [item.name, item.value ?? -1]));
    this.#backup = new Map(names.map((name) => [name, new Set([held.get(name)])]));
  }

  async #restore(backup: Possible): Promise<void> {
    this.restores += 1;
    const powerFails = this.#random.next() < 0.6;
    if (powerFails) {
      const at = this.#files.calls + 1 + Math.floor(this.#random.next() * 60);
      this.#files.faultAt(at, { type: 'powerLoss' });
      this.#faultsUntil = at;
    }
    const after: Possible = new Map(backup);
    try {
      await restoreBackup(join(this.#folder, 'backup'), this.#engine(), {
        replace: true,
        random: this.#random,
      });
      this.#states = [after];
    } catch {
      this.#states = [...this.#states, after];
    }
    this.#files.restart();
  }

  async #damage(): Promise<void> {
    this.#damaged = true;
    this.faults += 1;
    try {
      if (this.#random.next() < 0.6) await this.#flip();
      else await loseNewestTable(this.#files, `${directory}/db`);
    } catch {
      // A fault that was planned for the store happened now; power may be lost.
      if (this.#files.dead) this.#files.restart();
    }
  }

  async #flip(): Promise<void> {
    const files: string[] = [`${directory}/high-water`];
    for (const { name, type } of await this.#files.readDirectory(`${directory}/db`))
      if (type === 'file') files.push(`${directory}/db/${name}`);
    const path = this.#pick(files);
    if (!(await this.#files.exists(path))) return;
    const size = await this.#files.size(path);
    if (size === 0) return;
    const at = Math.floor(this.#random.next() * size);
    const file = await this.#files.open(path, 'r+');
    const [byte = 0] = await file.read(at, 1);
    await file.write(Buffer.from([byte ^ (1 << Math.floor(this.#random.next() * 8))]), at);
    await file.sync();
    await file.close();
  }
}

/** Runs one store through a seed's faults. */
export async function runHostile(options: HostileRun): Promise<HostileOutcome> {
  const folder = await mkdtemp(join(tmpdir(), 'kedge-hostile-'));
  const run = new Run(options, folder);
  const outcome = (violation?: string, refused?: string): HostileOutcome => {
    const { operations, compactions, faults, restores } = run;
    return { violation, refused, operations, compactions, faults, restores };
  };
  try {
    return outcome(undefined, await run.execute());
  } catch (error) {
    if (error instanceof Violation) return outcome(error.message);
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
