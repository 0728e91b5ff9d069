import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { readFileSync, renameSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type ObjectKey, silentLogger, sleep, systemClock } from 'kedge';
import {
  type Instance,
  type Snapshot,
  thawLeftovers,
  type Volume,
  type VolumeMount,
} from '@kedge/controllers';
import { directoryJournal, readMountTable, thisNode } from '@kedge/driver-sdk';
import { eventually } from 'kedge/testing';
import { cleanUp } from '../../../drivers/devices.js';
import type { Shown } from '../../model-api.js';
import type { Brought, Facts, Killed, Machine, MadeKind, Records, RootState } from '../machine.js';
import type { Calls, Order, Report, When } from './protocol.js';
import { places, RealWorkloads } from './real-workloads.js';

const program = fileURLToPath(new URL('real-daemon.js', import.meta.url));
const run = promisify(execFile);
/** Factor by which times of the model are shortened on this machine. */
const haste = 60;
const begunMs = 30;
const restMsMax = 90_000;
const pollMs = 200;
/** A violation counts after this many consecutive failed checks. */
const attemptsMax = 15;

interface Asked {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Pids of all descendants of a process. */
function descendants(pid: number): readonly number[] {
  let text = '';
  try {
    text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  } catch {
    // The process has ended.
  }
  const children = text.split(' ').filter(Boolean).map(Number);
  return children.flatMap((child) => [child, ...descendants(child)]);
}

function signalTo(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids)
    try {
      process.kill(pid, signal);
    } catch {
      // The process has ended.
    }
}

/** This machine: image files, loop devices, ext4, and a daemon in a separate process. Needs root. */
export class RealMachine implements Machine {
  readonly workloads = new RealWorkloads(() => this.alive);
  #directory = '';
  #daemon: ChildProcess | undefined;
  #root: RootState = 'here';
  #ids = 0;
  readonly #asked = new Map<number, Asked>();
  readonly #planned = new Map<number, (step: string) => void>();
  readonly #copies = new Map<string, Records>();

  get alive(): boolean {
    const daemon = this.#daemon;
    return daemon !== undefined && daemon.exitCode === null && !daemon.killed;
  }

  get root(): RootState {
    return this.#root;
  }

  #at(...names: readonly string[]): string {
    return join(this.#directory, ...names);
  }

  async begin(): Promise<void> {
    this.#directory = await mkdtemp(join(tmpdir(), 'kedge-image-model-'));
    for (const name of ['backing', 'disk', 'store']) await mkdir(this.#at(name));
    execFileSync('mount', ['--bind', this.#at('backing'), this.#at('disk')]);
    await this.boot();
  }

  async boot(): Promise<void> {
    await this.#gone();
    const daemon = spawn(process.execPath, [program, this.#directory], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#daemon = daemon;
    await new Promise<void>((resolve, reject) => {
      daemon.on('message', (message) => {
        const report = message as Report;
        if (report.type === 'ready') resolve();
        else this.#heard(report);
      });
      daemon.once('exit', (code) => {
        for (const { reject: fail } of this.#asked.values()) fail(new Error('the daemon died'));
        this.#asked.clear();
        this.#planned.clear();
        if (code === null) resolve();
        else reject(new Error(`the daemon ended with exit code ${code}`));
      });
    });
  }

  /** The previous daemon and its programs have ended. */
  async #gone(): Promise<void> {
    const daemon = this.#daemon;
    if (!daemon || daemon.exitCode !== null || daemon.signalCode !== null) return;
    await new Promise((resolve) => daemon.once('exit', resolve));
  }

  #heard(report: Exclude<Report, { type: 'ready' }>): void {
    if (report.type === 'met') {
      this.#planned.get(report.id)?.(report.step);
      this.#planned.delete(report.id);
      this.#send({ type: 'goOn', id: report.id });
      return;
    }
    const asked = this.#asked.get(report.id);
    this.#asked.delete(report.id);
    if (report.type === 'answer') asked?.resolve(report.value);
    else asked?.reject(new Error(report.message));
  }

  #send(order: Order): void {
    // A daemon that is killed meanwhile receives nothing, and its calls fail.
    if (this.alive) this.#daemon?.send(order, () => undefined);
  }

  #call<M extends keyof Calls>(method: M, ...args: Parameters<Calls[M]>): ReturnType<Calls[M]> {
    const id = (this.#ids += 1);
    const answer = new Promise((resolve, reject) => {
      if (!this.alive) return reject(new Error('the daemon is dead'));
      this.#asked.set(id, { resolve, reject });
      this.#send({ type: 'call', id, method, args });
    });
    return answer as ReturnType<Calls[M]>;
  }

  kill(whom: Killed): void {
    const daemon = this.#daemon;
    if (!this.alive || daemon?.pid === undefined) return;
    if (whom === 'daemon') return void daemon.kill('SIGKILL');
    const programs = descendants(daemon.pid);
    if (whom === 'child') return signalTo(programs, 'SIGKILL');
    // All are stopped first, so that none of them observes the end of another.
    signalTo([daemon.pid, ...programs], 'SIGSTOP');
    signalTo(programs, 'SIGKILL');
    daemon.kill('SIGKILL');
  }

  plan(steps: number, when: When, act: (step: string) => void): void {
    const id = (this.#ids += 1);
    this.#planned.set(id, act);
    this.#send({ type: 'plan', id, steps, when });
  }

  forgetPlans(): void {
    this.#planned.clear();
    this.#send({ type: 'forget' });
  }

  setRoot(state: RootState): boolean {
    if (this.#root === state) return true;
    if (state !== 'here' && this.#root !== 'here') return false;
    const mark = this.#at('backing/.kedge/cluster-id');
    try {
      if (state === 'unmounted') execFileSync('umount', [this.#at('disk')], { stdio: 'pipe' });
      else if (state === 'unmarked') renameSync(mark, `${mark}.away`);
      else if (this.#root === 'unmarked') renameSync(`${mark}.away`, mark);
      else execFileSync('mount', ['--bind', this.#at('backing'), this.#at('disk')]);
    } catch (error) {
      // A running daemon has a lock on the disk, and loop devices use its files.
      if (state === 'here') throw error;
      return false;
    }
    this.#root = state;
    return true;
  }

  create({ kind }: MadeKind, object: Shown): Promise<unknown> {
    return this.#call('create', kind as 'Volume', object);
  }

  change({ kind }: MadeKind, key: ObjectKey, fields: Shown): Promise<unknown> {
    return this.#call('change', kind as 'Volume', key, fields);
  }

  delete({ kind }: MadeKind, key: ObjectKey): Promise<unknown> {
    return this.#call('delete', kind as 'Volume', key);
  }

  volumes(): Promise<readonly Volume[]> {
    return this.#call('volumes');
  }

  snapshots(): Promise<readonly Snapshot[]> {
    return this.#call('snapshots');
  }

  operations(): Promise<readonly string[]> {
    return this.#call('operations');
  }

  ensure(instance: Instance, mount: VolumeMount): Promise<Brought> {
    return this.#call('ensure', instance, mount);
  }

  letGo(claim: string): Promise<boolean> {
    return this.#call('letGo', claim);
  }

  /** Images of this machine's storage root by loop device; one with two devices appears twice. */
  async #loops(): Promise<readonly (readonly [string, string])[]> {
    const { stdout } = await run('losetup', ['--list', '-n', '--raw', '-O', 'NAME,BACK-FILE']);
    const below = `${this.#directory}/`;
    return stdout.split('\n').flatMap((line) => {
      const [device = '', file = ''] = line.split(' ');
      const image = file.slice(below.length).replace(/^(disk|backing)\//, '');
      return file.startsWith(below) ? [[device, image] as const] : [];
    });
  }

  async #journal(): Promise<readonly string[]> {
    const folder = this.#at('node-journal');
    const names = (await readdir(folder).catch(() => [])).filter((name) => !name.endsWith('.new'));
    const texts = await Promise.all(
      names.map((name) => readFile(join(folder, name), 'utf8').catch(() => '{}')),
    );
    return texts.map((text) => {
      const { type, device, file, target } = JSON.parse(text) as Record<string, string | undefined>;
      const image = file?.slice(this.#at('disk').length + 1);
      return `${type ?? ''} ${image ?? device ?? target ?? ''}`;
    });
  }

  async facts(): Promise<Facts> {
    const before = await this.#journal();
    const loops = await this.#loops();
    const staged = (await readMountTable()).filter(
      ({ target }) => target.startsWith(this.#at('mounts/')) && !target.includes('/binds/'),
    );
    const files = await readdir(this.#at('backing'));
    const copies = await readdir(this.#at('backing/snapshots')).catch(() => []);
    const ours = ['.kedge', 'snapshots'];
    const imageOf = (device: string): string =>
      loops.find(([name]) => name === device)?.[1] ?? device;
    const journal = new Set([...before, ...(await this.#journal())]);
    journal.delete(' ');
    return {
      wrongs: this.workloads.wrongs,
      frozen: [],
      loops: loops.map(([, image]) => image),
      mounts: new Map(staged.map(({ target, source }) => [target, imageOf(source)])),
      journal,
      files: [
        ...files.filter((name) => !ours.includes(name)),
        ...copies.map((name) => `snapshots/${name}`),
      ],
    };
  }

  async records(image: string): Promise<Records | undefined> {
    const known = this.#copies.get(image);
    if (known) return known;
    const { mounts } = await this.facts();
    const target = [...mounts].find(([, mounted]) => mounted === image)?.[0];
    const [first = 0, second = 0] = await (target === undefined
      ? this.#inImage(image)
      : this.#mounted(target));
    const records = { first, second };
    if (image.startsWith('snapshots/')) this.#copies.set(image, records);
    return records;
  }

  /** Reads the second place first: a write in between does not count as a loss. */
  async #mounted(target: string): Promise<readonly number[]> {
    const read = async (place: string): Promise<number> =>
      Number(await readFile(join(target, place), 'utf8').catch(() => '0'));
    const second = await read('second');
    const first = await read('first');
    // A complete record may have been written between the two reads.
    return [Math.min(first, second + 1), second];
  }

  /** Read from the disk, so only while the kernel does not use it: its memory may have newer data. */
  async #inImage(image: string): Promise<readonly number[]> {
    const path = this.#at('backing', image);
    // Another program's process that starts at this moment briefly keeps every mount of this machine.
    await eventually(`${image} to have no mount`, async () => !(await this.#isAlive(image)));
    return Promise.all(
      places.map(async (place) => {
        const { stdout } = await run('debugfs', ['-R', `cat /${place}`, path]);
        return Number(stdout);
      }),
    );
  }

  async #isAlive(image: string): Promise<boolean> {
    const devices = (await this.#loops()).filter(([, backing]) => backing === image);
    const alive = await Promise.all(devices.map(([device]) => thisNode.hasFileSystem(device)));
    return alive.includes(true);
  }

  pass(ms: number): Promise<void> {
    return sleep(systemClock, ms / haste);
  }

  begun(work: Promise<void>): Promise<void> {
    return Promise.race([work, sleep(systemClock, begunMs)]);
  }

  async until(holds: () => Promise<boolean>): Promise<void> {
    const end = systemClock.monotonic() + restMsMax;
    while (!(await holds()) && systemClock.monotonic() < end) await sleep(systemClock, pollMs);
  }

  async verify(check: () => Promise<void>): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      if (!this.alive) await this.boot();
      try {
        return await check();
      } catch (error) {
        if (attempt === attemptsMax) throw error;
        await sleep(systemClock, pollMs);
      }
    }
  }

  /** Ends its processes, and removes its mounts, devices and directory; frozen file systems are thawed. */
  async close(): Promise<void> {
    if (this.#directory === '') return;
    this.kill('both');
    await this.#gone();
    const journal = directoryJournal(this.#at('node-journal'));
    await thawLeftovers({ journal, logger: silentLogger, clock: systemClock });
    await Promise.all(
      [...this.workloads.running.keys()].map((claim) => this.workloads.stop(claim)),
    );
    await cleanUp(this.#directory);
    this.#directory = '';
  }
}
