import { join } from 'node:path';
import { type Clock, type Logger, messageOf, sleep } from 'kedge';
import type { HeldVolume, Holder, Holders } from '@kedge/driver-sdk';
import { type ControllerPolicy, defaultPolicy } from '../../policy/policy.js';
import { type Boot, bootOfKernel } from '../runtime/boot.js';
import type { ExecProcess, ExecSpec } from '../runtime/exec.js';
import type { LogLine, LogRequest } from '../runtime/log.js';
import type {
  Availability,
  Runtime,
  StopProgress,
  WorkloadSpec,
  WorkloadState,
} from '../runtime/runtime.js';
import { SharedCall } from '../runtime/shared-call.js';
import { ChangeWaits } from './change-waits.js';
import { ContainerCommands } from './commands/container-commands.js';
import { ContainerEnds } from './container-ends.js';
import { holdersAmong } from './container-holders.js';
import { readContainerLog } from './container-log.js';
import { readEndedRun } from './logs/run-log.js';
import { ContainerRecords } from './container-records.js';
import { ContainerRuns } from './container-runs.js';
import { ContainerStarts } from './container-starts.js';
import { isRunning, workloadState } from './container-state.js';
import { ContainerStops } from './container-stops.js';
import { EngineWatch } from './engine-watch.js';
import type { EngineClient } from './engine/engine-client.js';
import { EngineOutages } from './outages/engine-outages.js';
import { EngineStarts } from './outages/engine-starts.js';
import { isEngineError } from './engine/engine-error.js';
import type { MemoryKills } from './limits/memory-kills.js';
import { withLimits } from './limits/running-limits.js';
import { lostOutput } from './outages/lost-output.js';
import { OutageRecord } from './outages/outage-record.js';
import { Images } from './images/images.js';
import { ClusterNetwork } from './network/cluster-network.js';
import { withoutRestartPolicy } from './restart-policy.js';
import { RunContainer } from './run-container.js';

/** Deadline of the check whether the engine is available. */
const availabilityMs = 5_000;
/** Maximum interval at which a reader that follows an ended workload checks for the next run. */
const nextRunMs = 5_000;

/** Dependencies of the container runtime. */
export interface ContainerRuntimeOptions {
  readonly engine: EngineClient;
  /** Id of the cluster: containers of other clusters are not touched. */
  readonly cluster: string;
  /** Directory of the records that are readable without the engine, one folder per workload. */
  readonly directory: string;
  /** Address of the node on which ports of containers are published. Default: 127.0.0.1. */
  readonly hostPortAddress?: string;
  /** Default: images are pulled without credentials. */
  readonly images?: Images;
  /** Directories that only the daemon writes to. Their parent paths may contain links. */
  readonly ownDirectories?: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
  /** The present boot of the machine. Default: that of the kernel. */
  readonly boot?: () => Promise<Boot>;
  /** The kills that the kernel logged. Default: those of this machine. */
  readonly memoryKills?: MemoryKills;
  /** Default: the policy of an unconfigured daemon. */
  readonly policy?: ControllerPolicy;
}

/**
 * Runs workloads as containers of an engine on this machine, one container per run. The engine keeps containers, output
 * and exit codes when the daemon stops. State is read from the engine, and its events are hints.
 */
export class ContainerRuntime implements Runtime, Holders {
  readonly name = 'container';
  readonly #options: ContainerRuntimeOptions;
  readonly #closing = new AbortController();
  readonly #records: ContainerRecords;
  readonly #runs: ContainerRuns;
  readonly #network: ClusterNetwork;
  readonly #container: RunContainer;
  readonly #starts: ContainerStarts;
  readonly #stops: ContainerStops;
  readonly #watch: EngineWatch;
  readonly #outages: EngineOutages;
  readonly #commands: ContainerCommands;
  readonly #ends: ContainerEnds;
  readonly #waits: ChangeWaits;
  /** Shared, because every reconcile of a container checks the availability. */
  readonly #availability = new SharedCall(() => this.#probeEngine());
  #listener: (id: string) => void = () => undefined;

  constructor(options: ContainerRuntimeOptions) {
    this.#options = options;
    this.#waits = new ChangeWaits(options.clock);
    const { engine, cluster, directory, clock, logger, policy } = options;
    const { containers } = engine;
    const { signal } = this.#closing;
    const { boot = () => bootOfKernel(clock.now()) } = options;
    const records = (this.#records = new ContainerRecords(directory));
    this.#commands = new ContainerCommands({
      ...{ exec: engine.exec, clock, logger, signal },
      directory: join(directory, 'commands'),
    });
    this.#runs = new ContainerRuns({ containers, cluster, records, clock, logger, signal, policy });
    this.#network = new ClusterNetwork(engine, cluster);
    this.#stops = new ContainerStops({ containers, records, clock, policy });
    this.#container = new RunContainer({ containers, signal, policy });
    this.#starts = new ContainerStarts({
      ...{ boot, clock, containers, cluster, signal },
      ...{ records, container: this.#container, stuck: this.#runs.stuck },
      network: this.#network,
      hostPortAddress: options.hostPortAddress ?? '127.0.0.1',
      images: options.images ?? new Images({ images: engine.images, clock }),
      ownDirectories: options.ownDirectories ?? [],
    });
    const outages = (this.#outages = new EngineOutages(clock, new OutageRecord(directory, logger)));
    this.#ends = new ContainerEnds({
      ...{ engine, clock, logger, records, signal, kills: options.memoryKills },
      starts: new EngineStarts({ engine, outages, records, boot }),
      onKnown: (id) => this.#changed(id),
    });
    this.#watch = new EngineWatch({
      ...{ engine, cluster, clock, logger, outages },
      onChange: (id) => this.#changed(id),
      onMemoryLimit: (...report) => this.#ends.memoryLimitReported(...report),
      onGap: () => void this.#allChanged(),
    });
  }

  availability(): Promise<Availability> {
    return this.#availability.ask();
  }

  async #probeEngine(): Promise<Availability> {
    try {
      await this.#options.engine.version(this.#closing.signal, availabilityMs);
    } catch (error) {
      return { available: false, message: messageOf(error) };
    }
    // Started only now: a machine without an engine must not cause a warning.
    this.#watch.start();
    return { available: true };
  }

  workloads(): Promise<readonly string[]> {
    return this.#runs.workloads();
  }

  async start(spec: WorkloadSpec): Promise<void> {
    const before = await this.observe(spec.id);
    if (before.state === 'running' || before.state === 'starting') return;
    this.#watch.start();
    await this.#starts.start(spec, await this.#runs.of(spec.id), () => this.#changed(spec.id));
  }

  async observe(id: string): Promise<WorkloadState> {
    const starting = this.#starts.stateOf(id);
    if (starting?.state === 'starting') return starting;
    const found = (await this.#runs.of(id)).at(-1);
    // The start failed before the container was created, or the engine reported a failure of its start.
    if (starting && starting.run >= (found?.run ?? 0) && found?.state !== 'running')
      return starting;
    if (!found) return { state: 'absent' };
    const { engine, logger } = this.#options;
    const { signal } = this.#closing;
    const inspection = await this.#runs.inspect(id, found);
    if (!inspection) return { state: 'absent' };
    await withoutRestartPolicy(engine.containers, inspection, logger, signal);
    const requested = (await this.#records.stopAskedAt(id, found.run)) !== undefined;
    const seen = workloadState(inspection, found.run, this.#network.name, requested);
    const state = await this.#starts.settledState(id, seen, inspection);
    if (state.state === 'exited') return this.#ends.of(id, found, inspection, state);
    if (state.state !== 'running') return state;
    return this.#ends.ofPrevious(id, await withLimits(engine, state, inspection, signal));
  }

  async requestStop(id: string, graceMs: number): Promise<StopProgress> {
    // The creation of a container is awaited, a pull is not.
    this.#starts.giveUp(id);
    this.#commands.kill(id);
    const { cluster, policy = defaultPolicy } = this.#options;
    const { signal } = this.#closing;
    if (this.#starts.stateOf(id)?.state === 'starting')
      return { type: 'stopping', checkInMs: policy.processPollMs };
    const runs = await this.#runs.toStop(id);
    let progress: StopProgress = { type: 'gone' };
    // Usually one runs at most. All are stopped.
    for (const each of runs) {
      const { run, container } = each;
      const found = await this.#runs.inspect(id, each);
      if (!found) continue;
      // A container that was never started is removed, so that nothing can start it later.
      if (found.state === 'created') {
        await this.#container.discard(container);
        continue;
      }
      if (!isRunning(found)) continue;
      progress = await this.#stops.advance({ cluster, id, run }, found, graceMs, signal);
    }
    if (progress.type === 'gone') this.#stops.forget(id);
    return progress;
  }

  async stop(id: string, graceMs: number): Promise<void> {
    const { clock, policy = defaultPolicy } = this.#options;
    for (let waitMs = 10; ; waitMs = Math.min(waitMs * 2, policy.processPollMs)) {
      const progress = await this.requestStop(id, graceMs);
      if (progress.type === 'gone') return;
      await sleep(clock, Math.min(waitMs, progress.checkInMs));
    }
  }

  async remove(id: string): Promise<void> {
    const { containers } = this.#options.engine;
    const runs = await this.#runs.toStop(id);
    // A container that was never started is removed by the stop.
    const wasStarted = runs.length > 0 || (await this.#records.lastRun(id)) > 0;
    for (const { container } of runs) await containers.remove(container, this.#closing.signal);
    this.#starts.forget(id);
    this.#stops.forget(id);
    await this.#records.remove(id);
    if (wasStarted) await this.#removeNetwork();
    await this.#commands.endLeft();
  }

  async *readLog(id: string, request: LogRequest): AsyncGenerator<LogLine> {
    const { containers } = this.#options.engine;
    yield* readContainerLog(
      {
        containers,
        runs: () => this.#runs.of(id),
        lost: (each) => lostOutput(containers, this.#outages, each, request.signal),
        nextRun: (signal) => this.#waits.next(id, nextRunMs, signal),
      },
      request,
    );
  }

  async readPrevious(id: string): Promise<AsyncIterable<LogLine> | undefined> {
    const earlier = (await this.#runs.of(id)).at(-2);
    if (!earlier) return undefined;
    const { containers } = this.#options.engine;
    return readEndedRun({ containers, outages: this.#outages }, earlier, this.#closing.signal);
  }

  /** Does nothing, because the engine limits the size of logs. */
  housekeep(): Promise<void> {
    return Promise.resolve();
  }

  async exec(id: string, spec: ExecSpec): Promise<ExecProcess> {
    const state = await this.observe(id);
    if (state.state !== 'running' || state.container === undefined)
      throw new Error(`workload ${id} is not running`);
    return this.#commands.start(id, state.container, spec);
  }

  /** Containers with a mount of a volume; none if the engine is unavailable. @throws EngineError of other kinds */
  async holders(volume: HeldVolume): Promise<readonly Holder[]> {
    const { containers } = this.#options.engine;
    try {
      return holdersAmong(await containers.list([], this.#closing.signal), volume);
    } catch (error) {
      if (!isEngineError(error, 'Unreachable', 'Unsupported')) throw error;
      return [];
    }
  }

  onChange(listener: (id: string) => void): void {
    this.#listener = listener;
  }

  close(): void {
    this.#watch.close();
    this.#closing.abort();
  }

  #changed(id: string): void {
    this.#listener(id);
    this.#waits.changed(id);
  }

  /** Removes the network with the last container. A failed removal is repeated when the engine is connected next. */
  async #removeNetwork(): Promise<void> {
    const { logger } = this.#options;
    try {
      await this.#network.removeIfUnused(this.#closing.signal);
    } catch (error) {
      logger.debug('the network could not be removed', { error: messageOf(error) });
    }
  }

  async #allChanged(): Promise<void> {
    await this.#commands.endLeft();
    await this.#removeNetwork();
    for (const id of await this.workloads().catch(() => [])) this.#changed(id);
  }
}
