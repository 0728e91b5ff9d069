import { type Clock, messageOf, sleep } from 'kedge';
import type { Boot } from '../runtime/boot.js';
import type { WorkloadSpec, WorkloadState } from '../runtime/runtime.js';
import { containerConfig } from './container-config.js';
import type { ContainerRecords } from './container-records.js';
import { isRunning } from './container-state.js';
import type { ContainerInspection, EngineContainers } from './engine/engine-containers.js';
import { ImageError, type Images } from './images/images.js';
import { propagationOf } from './mount-propagation.js';
import type { ClusterNetwork } from './network/cluster-network.js';
import { requireUnmoved } from './mounts/moved-source.js';
import type { StuckStarts } from './outages/stuck-starts.js';
import { joinsBridge } from './network/network-settings.js';
import { isConnectionLoss, isUnsettled, OtherMounts, type RunContainer } from './run-container.js';
import { containerName, type FoundRun, type RunIdentity, runOf } from './run-identity.js';

/** Time that a caller waits for a start. A longer start continues in the background. */
const patienceMs = 250;

/** Dependencies of {@link ContainerStarts}. */
export interface ContainerStartsOptions {
  readonly clock: Clock;
  readonly containers: EngineContainers;
  readonly cluster: string;
  readonly records: ContainerRecords;
  readonly container: RunContainer;
  readonly stuck: StuckStarts;
  readonly network: ClusterNetwork;
  /** Address of the node on which ports are published. */
  readonly hostPortAddress: string;
  readonly images: Images;
  /** Directories that only the daemon writes to. */
  readonly ownDirectories: readonly string[];
  /** Reads the present boot of the machine. */
  readonly boot: () => Promise<Boot>;
  readonly signal: AbortSignal;
}

/** The end of a start of a workload that is stopped meanwhile. */
class GivenUp extends Error {
  override readonly name = 'GivenUp';

  constructor() {
    super('the workload is being stopped');
  }
}

type Attempt = Extract<WorkloadState, { state: 'starting' | 'startFailed' }>;

/** Starts in progress, and failed starts that the engine has no record of. */
export class ContainerStarts {
  readonly #options: ContainerStartsOptions;
  readonly #attempts = new Map<string, Attempt>();
  readonly #givenUp = new Map<string, AbortController>();
  /** Errors of starts in the background whose outcome is unknown. */
  readonly #late = new Map<string, Error>();

  constructor(options: ContainerStartsOptions) {
    this.#options = options;
  }

  /**
   * The last start while it is in progress, or if it failed and the engine has no record of it; otherwise undefined.
   */
  stateOf(id: string): Attempt | undefined {
    return this.#attempts.get(id);
  }

  /** Cancels a start whose container is not being created yet, for example while it waits for its image. */
  giveUp(id: string): void {
    this.#givenUp.get(id)?.abort();
  }

  /** Forgets a removed workload. */
  forget(id: string): void {
    this.#attempts.delete(id);
    this.#late.delete(id);
    this.#options.stuck.forget(id);
  }

  /**
   * Starts a new run, or the last one again if its start was interrupted; no-op if that one runs meanwhile. A start
   * that takes long continues in the background. A failed start does not reject: {@link stateOf} reports it.
   * @param before the runs that have a container, oldest first; none of them is running
   * @param onLate called when a start in the background ends
   * @throws Error if the outcome of this start or of the last one is unknown; the next call starts the same run. A lost
   * connection is not an error, because the availability of the engine is reported separately.
   */
  async start(spec: WorkloadSpec, before: readonly FoundRun[], onLate: () => void): Promise<void> {
    const { id } = spec;
    const late = this.#late.get(id);
    this.#late.delete(id);
    if (late !== undefined) throw late;
    const patience = new AbortController();
    const begun = this.#begin(spec, before).catch((error: unknown) => {
      if (!isConnectionLoss(error)) throw error;
    });
    const isLate = sleep(this.#options.clock, patienceMs, patience.signal).then(() => true);
    try {
      if ((await Promise.race([begun, isLate])) !== true) return;
    } finally {
      patience.abort();
    }
    void begun
      .catch((error: unknown) => this.#late.set(id, new Error(messageOf(error), { cause: error })))
      .finally(onLate);
  }

  async #begin(spec: WorkloadSpec, before: readonly FoundRun[]): Promise<void> {
    const { id } = spec;
    const givenUp = new AbortController();
    this.#givenUp.set(id, givenUp);
    // Before any wait: a stop of the workload waits for the end of this start.
    this.#attempts.set(id, { state: 'starting', run: (before.at(-1)?.run ?? 0) + 1 });
    try {
      const run = await this.#nextRun(id, before).catch((error: unknown) => {
        this.#attempts.delete(id);
        throw error;
      });
      if (run === undefined) this.#attempts.delete(id);
      else await this.#attempt(spec, run, before, givenUp.signal);
    } finally {
      if (this.#givenUp.get(id) === givenUp) this.#givenUp.delete(id);
    }
  }

  async #attempt(
    spec: WorkloadSpec,
    run: number,
    before: readonly FoundRun[],
    givenUp: AbortSignal,
  ): Promise<void> {
    const { id } = spec;
    const { boot, cluster, records } = this.#options;
    this.#attempts.set(id, { state: 'starting', run });
    let isRecorded = false;
    let hasRun = false;
    const onStarted = (): void => {
      hasRun = true;
    };
    try {
      // The run is recorded first, so that a container is on record even if this process is killed now.
      await records.begin(id, run, (await boot()).id);
      isRecorded = true;
      await this.#run(spec, { cluster, id, run }, before, givenUp, onStarted);
      await records.settled(id, run);
      this.#attempts.delete(id);
    } catch (error) {
      if (error instanceof GivenUp) {
        // No failure, and no run: the next start has its number.
        this.#attempts.delete(id);
        return;
      }
      // The workload runs, and its mounts are not compared yet: see settledState.
      const isUnknown = hasRun && !(error instanceof OtherMounts);
      // The number of a run that is not recorded, such as on a full disk, is that of the next attempt.
      if (!isRecorded || isUnknown || isUnsettled(error)) {
        this.#attempts.delete(id);
        throw error;
      }
      const message = messageOf(error);
      const reason = error instanceof ImageError ? ('ImagePullFailed' as const) : undefined;
      // A workload that was started may have been removed.
      const isCreated = hasRun || (await this.#isCreated({ cluster, id, run }));
      this.#attempts.set(id, {
        ...{ state: 'startFailed', run, message, ...(reason && { reason }) },
        ...(!isCreated && { withoutContainer: true }),
      });
      await records.settled(id, run);
    }
  }

  /**
   * The state of a run that is not starting, also if the outcome of its start is not recorded, because this process or
   * its connection to the engine ended. If its container runs then, its mounts are compared.
   * @throws Error if the mounts can't be compared, or a container with other mounts can't be removed
   */
  async settledState(
    id: string,
    state: WorkloadState,
    found: ContainerInspection,
  ): Promise<WorkloadState> {
    if (state.state !== 'running' && state.state !== 'startFailed') return state;
    const { cluster, container, records } = this.#options;
    const { run } = state;
    // It is over: the container runs.
    if (state.state === 'running') this.#late.delete(id);
    if ((await records.unsettledRun(id)) !== run) return state;
    // An engine that did not answer the start recorded the error of its own stop. The start is repeated.
    if (state.state === 'startFailed') return { state: 'absent' };
    let settled: WorkloadState = state;
    try {
      // File systems in memory have no source.
      const mounts = found.mounts.filter(({ source }) => source !== '');
      await container.requireMounts({ cluster, id, run }, mounts, found);
    } catch (error) {
      if (!(error instanceof OtherMounts)) throw error;
      const attempt: Attempt = { state: 'startFailed', run, message: error.message };
      this.#attempts.set(id, attempt);
      settled = attempt;
    }
    // Without the record, the next observation compares the mounts again.
    await records.settled(id, run).catch(() => undefined);
    return settled;
  }

  /** Whether the container of a run exists. True if the engine does not answer. */
  async #isCreated(identity: RunIdentity): Promise<boolean> {
    const { containers, signal } = this.#options;
    try {
      const found = await containers.inspect(containerName(identity), signal);
      return found !== undefined && runOf(found.labels)?.cluster === identity.cluster;
    } catch {
      // The failed start is reported in any case.
      return true;
    }
  }

  /**
   * The number of the run to start: the last one if the outcome of its start is not known and its container was not
   * started. Undefined if an earlier process of the daemon or of the engine has started it meanwhile.
   */
  async #nextRun(id: string, before: readonly FoundRun[]): Promise<number | undefined> {
    const { containers, records, signal } = this.#options;
    const last = before.at(-1);
    const next = Math.max(await records.lastRun(id), last?.run ?? 0) + 1;
    const unsettled = await records.unsettledRun(id);
    if (unsettled === undefined || unsettled !== next - 1) return next;
    if (last?.run !== unsettled) return unsettled;
    const found = await containers.inspect(last.container, signal);
    // Also with an error: an engine that was stopped during the start recorded it, and did not answer.
    if (!found || found.state === 'created') return unsettled;
    return isRunning(found) ? undefined : next;
  }

  async #run(
    spec: WorkloadSpec,
    identity: RunIdentity,
    before: readonly FoundRun[],
    givenUp: AbortSignal,
    onStarted: () => void,
  ): Promise<void> {
    const { container, containers, hostPortAddress, images, network, ownDirectories } =
      this.#options;
    const { signal, stuck } = this.#options;
    // The last container that ran is kept for its log and its exit code. Removing a running container fails.
    const earlier = before.filter(({ run }) => run < identity.run);
    const kept = earlier.findLast(({ state }) => state !== 'created');
    for (const found of earlier)
      if (found !== kept) await containers.remove(found.container, signal);
    const reported = (message: string): void => {
      // The pull continues for other workloads. Its progress must not bring back a start that has ended.
      if (givenUp.aborted) return;
      this.#attempts.set(spec.id, { state: 'starting', run: identity.run, message });
    };
    if (spec.image === undefined) throw new Error('the instance has no image');
    const image = await orGivenUp(
      images.provide(
        { name: spec.image, policy: spec.imagePull ?? 'missing', pinned: spec.pinnedImage },
        reported,
        signal,
      ),
      givenUp,
    );
    this.#attempts.set(spec.id, { state: 'starting', run: identity.run });
    const propagations = await propagationOf(spec.mounts.map(({ source }) => source));
    const mounts = spec.mounts.map((mount, index) => ({
      ...mount,
      propagation: propagations[index] ?? ('rprivate' as const),
    }));
    const plan = { spec, identity, image, network: network.name, hostPortAddress, mounts };
    if (givenUp.aborted) throw new GivenUp();
    const check = (): Promise<void> => requireUnmoved(mounts, ownDirectories);
    const same = before.filter(({ run }) => run === identity.run).map((found) => found.container);
    const begin = (): Promise<void> =>
      stuck.during(spec.id, identity.run, async () => {
        await container.start(identity, containerConfig(plan), same, check, spec.strictLimits);
        onStarted();
        await container.requireMounts(identity, mounts);
      });
    await (joinsBridge(spec) ? network.during(signal, begin) : begin());
  }
}

/** Awaits the work. Rejects when the signal aborts; the work then continues for its other callers. */
async function orGivenUp<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(new GivenUp());
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', onAbort);
    work.catch(() => undefined);
  }
}
