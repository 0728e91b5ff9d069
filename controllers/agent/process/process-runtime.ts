import { statSync } from 'node:fs';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, sleep } from 'kedge';
import { type ControllerPolicy, defaultPolicy } from '../../policy/policy.js';
import type {
  Availability,
  Runtime,
  StopProgress,
  WorkloadSpec,
  WorkloadState,
} from '../runtime/runtime.js';
import type { ExecProcess, ExecSpec } from '../runtime/exec.js';
import type { LogLine, LogRequest } from '../runtime/log.js';
import { RunningCommands } from '../runtime/running-commands.js';
import { privatePlaces } from '../runtime/second-paths.js';
import { IsolationProbes } from './isolation.js';
import { execInProcess } from './process-exec.js';
import { limitsNotes } from './cgroup/changed-limit-files.js';
import { WorkloadGroups, type WorkloadGroupsOptions } from './cgroup/workload-groups.js';
import {
  isAlive,
  isLocked,
  namesIn,
  type ProcessId,
  readIfExists,
  readProcessId,
} from '../launch/process-table.js';
import { keepLogBounded, readPreviousRun, readProcessLog } from './process-log.js';
import { privilegesOf } from './privileges.js';
import { Launcher } from '../launch/launcher.js';
import { scripts } from '../launch/scripts.js';
import { removeRuns } from './remove-runs.js';
import { exitCodeIn, RunEnds } from './run-ends.js';
import { bindLines, groupsOf, lastRunIn, makeRunFolder, rightsIn } from './run-folder.js';
import { abandonedBecause } from './run-start.js';
import { RunStarts } from './run-starts.js';
import { RunWatches } from './run-watches.js';
import { spawnRun } from './spawn-run.js';
import { StopRequests } from './stop-requests.js';
import { UnrecordedRuns } from './unrecorded-runs.js';

/**
 * Time limit from the start of a supervisor to the pid of its workload, and from the claim of a run to the pid of the
 * supervisor. A run that a live supervisor has claimed has no time limit.
 */
const startMsMax = 10_000;
const idPattern = /^[0-9a-f-]{36}$/;

type LiveState = Extract<WorkloadState, { state: 'starting' | 'running' }>;

/** Dependencies of the process runtime. */
export interface ProcessRuntimeOptions {
  /** The parent of the workloads' directories. */
  readonly directory: string;
  /** Private directories and files of the daemon, which are hidden from workloads. */
  readonly hiddenDirectories: readonly string[];
  /** Directories with volumes of several workloads: a workload sees only its own volumes. Default: none. */
  readonly volumeDirectories?: readonly string[];
  readonly clock: Clock;
  /** Default: the policy of an unconfigured daemon. */
  readonly policy?: ControllerPolicy;
  /** Mount point of the control groups, and the cluster id in their names. */
  readonly cgroups?: WorkloadGroupsOptions;
  /** The script that starts a workload and records its end; default: that of this release. */
  readonly supervisor?: string;
  /** Timeout of a start in milliseconds; default 10 s. */
  readonly startTimeoutMs?: number;
}

/**
 * Runs workloads as processes of this host. Each has a process group and a mount namespace, writes its output directly
 * to a file, and has a supervisor outside of the daemon that records its exit.
 *
 * A run is a folder `run-<n>`. It belongs to the process that creates its `claimed` folder, so that a crash before the
 * supervisor starts can't cause a second run.
 */
export class ProcessRuntime implements Runtime {
  readonly name = 'process';
  readonly #options: ProcessRuntimeOptions;
  readonly #watches = new RunWatches((id) => this.#listener(id));
  readonly #commands = new RunningCommands();
  readonly #launcher = new Launcher(join(scripts, 'launch.cjs'));
  readonly #starts: RunStarts;
  readonly #stops: StopRequests;
  readonly #groups: WorkloadGroups;
  readonly #ends: RunEnds;
  readonly #unrecorded: UnrecordedRuns;
  readonly #isolation: IsolationProbes;
  #listener: (id: string) => void = () => undefined;

  constructor(options: ProcessRuntimeOptions) {
    this.#options = options;
    const { clock, policy = defaultPolicy, startTimeoutMs: timeoutMs = startMsMax } = options;
    this.#groups = new WorkloadGroups(options.cgroups, (id) => groupsOf(this.#workload(id)));
    this.#ends = new RunEnds((id) => this.#groups.ranOutOfMemory(id));
    this.#isolation = new IsolationProbes(clock);
    this.#stops = new StopRequests(clock, policy);
    const late = (id: string): void => this.#listener(id);
    this.#starts = new RunStarts({ clock, timeoutMs, pollMs: policy.processPollMs, late });
    this.#unrecorded = new UnrecordedRuns({ ...options, watches: this.#watches });
  }

  async availability(): Promise<Availability> {
    const mode = await this.#isolation.get();
    if (mode.type !== 'unavailable') return { available: true };
    return { available: false, message: mode.message };
  }

  workloads(): Promise<readonly string[]> {
    const names = namesIn(this.#options.directory);
    return Promise.resolve(names.filter((name) => idPattern.test(name)));
  }

  #workload(id: string): string {
    if (!idPattern.test(id)) throw new TypeError(`${id} is not a workload id`);
    return join(this.#options.directory, id);
  }

  /** The output file of a workload. */
  logFile(id: string): string {
    return join(this.#workload(id), 'output.log');
  }

  readLog(id: string, request: LogRequest): AsyncIterable<LogLine> {
    const { clock, policy = defaultPolicy } = this.#options;
    return readProcessLog(this.logFile(id), request, { clock, probeMs: policy.logProbeMs });
  }

  readPrevious(id: string): Promise<AsyncIterable<LogLine> | undefined> {
    return Promise.resolve(readPreviousRun(this.logFile(id)));
  }

  housekeep(id: string): Promise<void> {
    return keepLogBounded(this.logFile(id), this.#options.clock.now());
  }

  onChange(listener: (id: string) => void): void {
    this.#listener = listener;
  }

  #runDirectory(id: string, n: number): string {
    return join(this.#workload(id), `run-${n}`);
  }

  async start(spec: WorkloadSpec): Promise<void> {
    const before = await this.observe(spec.id);
    if (before.state === 'running' || before.state === 'starting') return;
    const mode = await this.#isolation.get();
    if (mode.type === 'unavailable') throw new Error(mode.message);
    const words = await privilegesOf(mode.type, spec);
    const { hiddenDirectories, volumeDirectories = [] } = this.#options;
    const { own, second } = await privatePlaces(hiddenDirectories);
    const binds = await bindLines(spec.mounts, own, second);
    const n = lastRunIn(this.#workload(spec.id)) + 1;
    if (n === 1) await this.#unrecorded.end(spec.id);
    const directory = this.#runDirectory(spec.id, n);
    const group = await this.#groups.prepare(spec.id, spec.limits);
    if (group.unenforced !== undefined && spec.strictLimits) throw new Error(group.unenforced);
    const input = { binds, words, hidden: [...own, ...second], volumeDirectories, group };
    const files = await makeRunFolder(directory, input);
    this.#ends.forget(spec.id);
    // A remaining watch belongs to an earlier run, such as that of a workload whose directory was removed.
    this.#watches.unwatch(spec.id);
    const now = this.#options.clock.now();
    const from = { directory, files, logFile: this.logFile(spec.id), mode: mode.type, n, now };
    const { supervisor = join(scripts, 'supervise.sh') } = this.#options;
    await this.#starts.follow(spec.id, directory, async () => {
      const run = await spawnRun({ launcher: this.#launcher, supervisor }, spec, from);
      // If the run has ended before this watch, the next observation finds the end in the folder.
      this.#watches.watch(spec.id, directory);
      return run;
    });
  }

  async observe(id: string): Promise<WorkloadState> {
    const n = lastRunIn(this.#workload(id));
    if (n === 0) return { state: 'absent' };
    const directory = this.#runDirectory(id, n);
    const end = this.#ends.get(id, directory);
    if (end) return end;
    const exit = readIfExists(join(directory, 'exit'));
    const workload = readProcessId(join(directory, 'pid'));
    const runs = exit === undefined && workload !== undefined && isAlive(workload);
    if (runs || exit !== undefined) this.#starts.seen(id, directory);
    if (exit !== undefined)
      return this.#ends.read(id, { directory, n, exitCode: exitCodeIn(exit) });
    if (runs) {
      // An end before the watch is not notified, so check again after it.
      if (this.#watches.watch(id, directory) && readIfExists(join(directory, 'exit')) !== undefined)
        return this.observe(id);
      const startedAt = statSync(join(directory, 'pid')).mtimeMs;
      const limits = limitsNotes(directory);
      return { state: 'running', run: n, pid: workload.pid, startedAt, ...limits };
    }
    return this.#unclear(id, directory, n, workload);
  }

  /** The state of a run without a live process and without a recorded exit code: starting, failed, or lost. */
  async #unclear(
    id: string,
    directory: string,
    n: number,
    workload: ProcessId | undefined,
  ): Promise<WorkloadState> {
    if (this.#starts.isSpawning(directory)) return { state: 'starting', run: n };
    const claimed = join(directory, 'claimed');
    try {
      await mkdir(claimed);
      // The run was unclaimed: nothing was started, and a late supervisor can't start it now.
      await writeFile(join(claimed, 'abandoned'), '');
      return { state: 'absent' };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const message = abandonedBecause(directory);
    if (message === '') return { state: 'absent' };
    if (message !== undefined) return { state: 'startFailed', run: n, message };
    const supervisor = readProcessId(join(claimed, 'supervisor'));
    const claimedAt = (await stat(claimed)).mtimeMs;
    const young = !supervisor && this.#options.clock.now() - claimedAt < startMsMax;
    if (young || (supervisor && isAlive(supervisor))) {
      this.#watches.watch(id, directory);
      return { state: 'starting', run: n };
    }
    let exit = readIfExists(join(directory, 'exit'));
    // Without an exit code it may run in a pid namespace that /proc does not show.
    if (exit === undefined) {
      const held = await isLocked(join(claimed, 'lock'));
      exit = readIfExists(join(directory, 'exit'));
      if (held && exit === undefined)
        throw new Error(
          `workload ${id} was started in another pid namespace and may still run there; run kedged in that pid namespace (for example the host's), or end that namespace`,
        );
    }
    const exitCode = exit === undefined ? undefined : exitCodeIn(exit);
    if (!workload && !supervisor) return { state: 'absent' };
    return this.#ends.read(id, { directory, n, exitCode });
  }

  async requestStop(id: string, graceMs: number): Promise<StopProgress> {
    // Commands keep the mounts of the workload busy.
    this.#commands.kill(id);
    const state = await this.observe(id);
    // The cached end lacks the stop request, which the folder records from now on.
    this.#ends.forget(id);
    if (state.state === 'starting' || state.state === 'running')
      return this.#advance(id, state, graceMs);
    this.#stops.forget(this.#workload(id));
    if (lastRunIn(this.#workload(id)) === 0) await this.#unrecorded.end(id);
    await this.#groups.remove(id).catch(() => undefined); // the next start retries
    return { type: 'gone' };
  }

  async #advance(id: string, state: LiveState, graceMs: number): Promise<StopProgress> {
    const directory = this.#runDirectory(id, state.run);
    const progress = await this.#stops.advance(directory, state, graceMs);
    if (this.#stops.isKilled(directory)) await this.#groups.kill(id);
    return progress;
  }

  async stop(id: string, graceMs: number): Promise<void> {
    const { processPollMs } = this.#options.policy ?? defaultPolicy;
    for (let waitMs = 10; ; waitMs = Math.min(waitMs * 2, processPollMs)) {
      const progress = await this.requestStop(id, graceMs);
      if (progress.type === 'gone') return;
      await sleep(this.#options.clock, Math.min(waitMs, progress.checkInMs));
    }
  }

  async exec(id: string, spec: ExecSpec): Promise<ExecProcess> {
    const mode = await this.#isolation.get();
    const state = await this.observe(id);
    if (mode.type === 'unavailable' || state.state !== 'running')
      throw new Error(`workload ${id} is not running`);
    const directory = this.#runDirectory(id, state.run);
    const groups = await this.#groups.procs(id);
    const { clock } = this.#options;
    const box = { ...state, ...rightsIn(directory), mode: mode.type, groups, clock };
    const command = await execInProcess(box, spec);
    this.#commands.add(id, command);
    return command;
  }

  async remove(id: string): Promise<void> {
    await this.#starts.end(id);
    this.#watches.unwatch(id);
    this.#ends.forget(id);
    this.#stops.forget(this.#workload(id));
    await this.#groups.remove(id);
    await removeRuns(this.#workload(id));
  }

  close(): void {
    this.#watches.close();
    this.#launcher.close();
  }
}
