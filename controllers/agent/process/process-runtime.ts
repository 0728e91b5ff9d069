import { execFile, spawn } from 'node:child_process';
import { type FSWatcher, watch } from 'node:fs';
import { mkdir, open, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Clock, sleep } from 'kedge';
import type { Availability, Runtime, WorkloadSpec, WorkloadState } from '../runtime.js';
import type { ExecProcess, ExecSpec } from '../exec.js';
import { noteSize, rotate } from './log-rotation.js';
import { execInProcess } from './process-exec.js';
import { isAlive, type ProcessId, readIfExists, readProcessId } from './process-table.js';

const run = promisify(execFile);
const supervisor = fileURLToPath(
  new URL('../../../agent/supervisor/supervise.sh', import.meta.url),
);
/** A supervisor that has claimed a run tells its workload's pid within this time. */
const startMsMax = 10_000;
/** A killed process is gone within this time, unless the kernel holds it. */
const killMsMax = 5_000;
const defaultPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Ports of the process runtime. */
export interface ProcessRuntimeOptions {
  /** One folder a workload, below this one. */
  readonly directory: string;
  /** The daemon's own, which workloads do not see. */
  readonly hiddenDirectories: readonly string[];
  readonly clock: Clock;
}

/** How a mount namespace is had on this host, or why it is not. */
type Mode =
  | { readonly type: 'root' | 'user' }
  | { readonly type: 'unavailable'; readonly message: string };

/**
 * Workloads as processes of this host: a process group and a mount namespace of their own, output
 * straight into a file, a supervisor outside the daemon that records the exit.
 *
 * A run is a folder `run-<n>`; whoever makes its `claimed` folder first owns it, so that after a
 * crash between making the folder and starting the supervisor nothing runs twice.
 */
export class ProcessRuntime implements Runtime {
  readonly name = 'process';
  readonly #options: ProcessRuntimeOptions;
  readonly #watchers = new Map<string, FSWatcher>();
  /** Commands that were started inside workloads and run. */
  readonly #commands = new Map<string, Set<ExecProcess>>();
  /** Runs whose supervisor this daemon has just spawned. */
  readonly #spawning = new Set<string>();
  #listener: (id: string) => void = () => undefined;
  #mode: Promise<Mode> | undefined;

  constructor(options: ProcessRuntimeOptions) {
    this.#options = options;
  }

  async availability(): Promise<Availability> {
    const mode = await this.#probe();
    if (mode.type !== 'unavailable') return { available: true };
    return { available: false, message: mode.message };
  }

  /** As root a mount namespace, else a user namespace where the system allows one. */
  #probe(): Promise<Mode> {
    this.#mode ??= (async () => {
      const root = process.getuid?.() === 0;
      const flags = root ? [] : ['--user', '--map-current-user', '--keep-caps'];
      const script = 'mount -t tmpfs kedge /tmp && command -v setsid pivot_root setpriv >/dev/null';
      const args = [...flags, '--mount', '--propagation', 'private', '--', 'sh', '-c', script];
      try {
        await run('unshare', args, { env: { PATH: defaultPath }, timeout: 5_000 });
        return { type: root ? 'root' : 'user' };
      } catch (error) {
        const detail = (error as { stderr?: string }).stderr?.trim() || (error as Error).message;
        const message = root
          ? `mount namespaces are not available (${detail}); allow CAP_SYS_ADMIN and install util-linux`
          : `user namespaces are not available (${detail}); allow them (sysctl kernel.unprivileged_userns_clone=1, or kernel.apparmor_restrict_unprivileged_userns=0), or run kedged as root`;
        return { type: 'unavailable', message };
      }
    })();
    return this.#mode;
  }

  #workload(id: string): string {
    if (!/^[0-9a-f-]{36}$/.test(id)) throw new TypeError(`${id} is not a workload id`);
    return join(this.#options.directory, id);
  }

  logFile(id: string): string {
    return join(this.#workload(id), 'output.log');
  }

  async rotateLog(id: string): Promise<void> {
    const file = this.logFile(id);
    await rotate(file);
    await noteSize(file, this.#options.clock.now());
  }

  onChange(listener: (id: string) => void): void {
    this.#listener = listener;
  }

  async #lastRun(id: string): Promise<number> {
    const names = await readdir(this.#workload(id)).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    const runs = names.map((name) => Number(/^run-(\d+)$/.exec(name)?.[1] ?? 0));
    return Math.max(0, ...runs);
  }

  #runDirectory(id: string, n: number): string {
    return join(this.#workload(id), `run-${n}`);
  }

  async start(spec: WorkloadSpec): Promise<void> {
    const before = await this.observe(spec.id);
    if (before.state === 'running' || before.state === 'starting') return;
    const mode = await this.#probe();
    if (mode.type === 'unavailable') throw new Error(mode.message);
    const n = (await this.#lastRun(spec.id)) + 1;
    const directory = this.#runDirectory(spec.id, n);
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const binds = spec.mounts.map((m) => `${m.readOnly ? 'ro' : 'rw'}\t${m.source}\t${m.target}\n`);
    await writeFile(join(directory, 'binds'), binds.join(''));
    const hidden = this.#options.hiddenDirectories.map((path) => `${path}\n`);
    await writeFile(join(directory, 'hidden'), hidden.join(''));
    this.#watch(spec.id, directory);
    this.#spawning.add(directory);
    try {
      await this.#spawn(spec, directory, mode.type);
      await this.#untilStarted(directory);
    } finally {
      this.#spawning.delete(directory);
    }
  }

  /** @throws Error when no process can be made of the command, such as one with a NUL character. */
  async #spawn(spec: WorkloadSpec, directory: string, mode: 'root' | 'user'): Promise<void> {
    const log = await open(this.logFile(spec.id), 'a', 0o600);
    try {
      const args = [directory, mode, spec.workingDir, ...spec.command];
      const child = spawn('/bin/sh', [supervisor, ...args], {
        detached: true,
        stdio: ['ignore', log.fd, log.fd],
        env: { PATH: defaultPath, ...spec.env },
        cwd: '/',
      });
      await new Promise<void>((resolve, reject) => {
        child.once('spawn', resolve);
        child.once('error', reject);
      });
      child.unref();
    } finally {
      await log.close();
    }
  }

  /** Waits until the supervisor tells the pid; a run that never starts is found out by observe. */
  async #untilStarted(directory: string): Promise<void> {
    const { clock } = this.#options;
    const end = clock.monotonic() + startMsMax;
    for (let waitMs = 5; clock.monotonic() < end; waitMs = Math.min(waitMs * 2, 100)) {
      if ((await readIfExists(join(directory, 'pid'))) !== undefined) return;
      await sleep(clock, waitMs);
    }
  }

  async observe(id: string): Promise<WorkloadState> {
    const n = await this.#lastRun(id);
    if (n === 0) return { state: 'absent' };
    const directory = this.#runDirectory(id, n);
    const workload = await readProcessId(join(directory, 'pid'));
    const exit = await readIfExists(join(directory, 'exit'));
    if (exit !== undefined) return this.#exited(directory, n, Number(exit.trim()));
    if (workload && (await isAlive(workload))) {
      this.#watch(id, directory);
      const startedAt = (await stat(join(directory, 'pid'))).mtimeMs;
      return { state: 'running', run: n, pid: workload.pid, startedAt };
    }
    return this.#unclear(id, directory, n, workload);
  }

  /** Neither running nor ended on record: about to start, about to be recorded, or lost. */
  async #unclear(
    id: string,
    directory: string,
    n: number,
    workload: ProcessId | undefined,
  ): Promise<WorkloadState> {
    if (this.#spawning.has(directory)) return { state: 'starting', run: n };
    const claimed = join(directory, 'claimed');
    try {
      await mkdir(claimed);
      // Nobody had claimed it, so nothing was started, and a late supervisor will not start it now.
      await writeFile(join(claimed, 'abandoned'), '');
      return { state: 'absent' };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    if ((await readIfExists(join(claimed, 'abandoned'))) !== undefined) return { state: 'absent' };
    const keeper = await readProcessId(join(claimed, 'supervisor'));
    const claimedAt = (await stat(claimed)).mtimeMs;
    const young = !keeper && this.#options.clock.now() - claimedAt < startMsMax;
    if (young || (keeper && (await isAlive(keeper)))) {
      this.#watch(id, directory);
      return { state: 'starting', run: n };
    }
    const exit = await readIfExists(join(directory, 'exit'));
    const code = exit === undefined ? undefined : Number(exit.trim());
    return workload || keeper ? this.#exited(directory, n, code) : { state: 'absent' };
  }

  async #exited(
    directory: string,
    n: number,
    exitCode: number | undefined,
  ): Promise<WorkloadState> {
    const timeOf = (file: string): Promise<number> =>
      stat(join(directory, file)).then(
        (s) => s.mtimeMs,
        () => 0, // not written before the end
      );
    const startedAt = (await timeOf('pid')) || (await timeOf('claimed'));
    const exitedAt = (await timeOf('exit')) || startedAt;
    const requested = (await readIfExists(join(directory, 'stop-requested'))) !== undefined;
    return { state: 'exited', run: n, exitCode, startedAt, exitedAt, requested };
  }

  async stop(id: string, graceMs: number): Promise<void> {
    // They hold its mounts.
    for (const command of this.#commands.get(id) ?? []) command.kill();
    const { clock } = this.#options;
    let state = await this.observe(id);
    if (state.state === 'absent' || state.state === 'exited') return;
    await writeFile(join(this.#runDirectory(id, state.run), 'stop-requested'), '');
    const killAt = clock.monotonic() + graceMs;
    let sent: NodeJS.Signals | undefined;
    for (let waitMs = 10; ; waitMs = Math.min(waitMs * 2, 200)) {
      state = await this.observe(id);
      if (state.state === 'absent' || state.state === 'exited') return;
      const wanted = clock.monotonic() >= killAt ? 'SIGKILL' : 'SIGTERM';
      if (clock.monotonic() >= killAt + killMsMax)
        throw new Error(`process ${state.state === 'running' ? state.pid : ''} survives SIGKILL`);
      if (state.state === 'running' && sent !== wanted) {
        signalGroup(state.pid, wanted);
        sent = wanted;
      }
      await sleep(clock, waitMs);
    }
  }

  async exec(id: string, spec: ExecSpec): Promise<ExecProcess> {
    const mode = await this.#probe();
    const state = await this.observe(id);
    if (mode.type === 'unavailable' || state.state !== 'running')
      throw new Error(`workload ${id} does not run`);
    const target = { pid: state.pid, mode: mode.type, clock: this.#options.clock };
    const command = await execInProcess(target, spec);
    const running = this.#commands.get(id) ?? new Set();
    this.#commands.set(id, running.add(command));
    void command.exited.then(() => {
      running.delete(command);
      if (running.size === 0) this.#commands.delete(id);
    });
    return command;
  }

  async remove(id: string): Promise<void> {
    this.#unwatch(id);
    await rm(this.#workload(id), { recursive: true, force: true });
  }

  close(): void {
    for (const id of [...this.#watchers.keys()]) this.#unwatch(id);
  }

  #watch(id: string, directory: string): void {
    if (this.#watchers.has(id)) return;
    const watcher = watch(directory, { persistent: false }, (_event, file) => {
      if (file !== 'exit') return;
      this.#unwatch(id);
      this.#listener(id);
    });
    watcher.on('error', () => this.#unwatch(id));
    this.#watchers.set(id, watcher);
  }

  #unwatch(id: string): void {
    this.#watchers.get(id)?.close();
    this.#watchers.delete(id);
  }
}

function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // It ended meanwhile, which is what was wanted.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
