import { messageOf } from 'kedge';
import type { JsonObject } from 'kedge/rpc';
import type { WorkloadSpec, WorkloadState } from '../runtime/runtime.js';
import { containerConfig } from './container-config.js';
import type { ContainerRecords } from './container-records.js';
import type { EngineContainers } from './engine/engine-containers.js';
import { isEngineError } from './engine/engine-error.js';
import { ImageError, type Images } from './images/images.js';
import { propagationOf } from './mount-propagation.js';
import type { ClusterNetwork } from './network/cluster-network.js';
import { joinsBridge } from './network/network-settings.js';
import { containerName, type RunIdentity, runOf } from './run-identity.js';

/** Dependencies of {@link ContainerStarts}. */
export interface ContainerStartsOptions {
  readonly containers: EngineContainers;
  readonly cluster: string;
  readonly records: ContainerRecords;
  readonly network: ClusterNetwork;
  /** Address of the node on which ports are published. */
  readonly hostPortAddress: string;
  readonly images: Images;
  /** The signal of the runtime. */
  readonly signal: AbortSignal;
}

type Attempt = Extract<WorkloadState, { state: 'starting' | 'startFailed' }>;

/** Starts in progress, and failed starts that the engine has no record of. */
export class ContainerStarts {
  readonly #options: ContainerStartsOptions;
  readonly #attempts = new Map<string, Attempt>();
  readonly #givenUp = new Map<string, AbortController>();

  constructor(options: ContainerStartsOptions) {
    this.#options = options;
  }

  /** The last start, if the engine does not report its outcome. */
  stateOf(id: string): Attempt | undefined {
    return this.#attempts.get(id);
  }

  /** Cancels a start that waits for its image. */
  giveUp(id: string): void {
    this.#givenUp.get(id)?.abort();
  }

  /** Forgets a removed workload. */
  forget(id: string): void {
    this.#attempts.delete(id);
  }

  /**
   * Starts a new run. {@link stateOf} and the engine report the outcome.
   * @param before the runs that have a container, the earlier one first; none of them is running
   */
  async begin(
    spec: WorkloadSpec,
    before: readonly { readonly run: number; readonly container: string }[],
  ): Promise<void> {
    const { id } = spec;
    const { cluster, records } = this.#options;
    const run = Math.max(await records.lastRun(id), before.at(-1)?.run ?? 0) + 1;
    const givenUp = new AbortController();
    this.#givenUp.set(id, givenUp);
    this.#attempts.set(id, { state: 'starting', run });
    try {
      // The run is recorded first, so that a container is on record even if this process is killed now.
      await records.begin(id, run);
      await this.#run(spec, { cluster, id, run }, before, givenUp.signal);
      this.#attempts.delete(id);
    } catch (error) {
      const message = messageOf(error);
      const reason = error instanceof ImageError ? ('ImagePullFailed' as const) : undefined;
      this.#attempts.set(id, { state: 'startFailed', run, message, ...(reason && { reason }) });
    } finally {
      if (this.#givenUp.get(id) === givenUp) this.#givenUp.delete(id);
    }
  }

  async #run(
    spec: WorkloadSpec,
    identity: RunIdentity,
    before: readonly { readonly run: number; readonly container: string }[],
    givenUp: AbortSignal,
  ): Promise<void> {
    const { containers, hostPortAddress, images, network, signal } = this.#options;
    // The previous container is kept for its log and its exit. Removing a running container fails.
    const [kept, ...older] = before.toReversed();
    for (const { container } of older) await containers.remove(container, signal);
    if (kept && (await containers.inspect(kept.container, signal))?.state === 'created')
      await containers.remove(kept.container, signal);
    const told = (message: string): void => {
      this.#attempts.set(spec.id, { state: 'starting', run: identity.run, message });
    };
    if (spec.image === undefined) throw new Error('the instance has no image');
    const image = await orGivenUp(
      images.provide(
        { name: spec.image, policy: spec.imagePull ?? 'missing', pinned: spec.pinnedImage },
        told,
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
    if (givenUp.aborted) throw new Error('the workload is being stopped');
    const begin = (): Promise<void> => this.#begin(identity, containerConfig(plan));
    await (joinsBridge(spec) ? network.during(signal, begin) : begin());
  }

  async #begin(identity: RunIdentity, config: JsonObject): Promise<void> {
    const { containers, signal } = this.#options;
    const name = containerName(identity);
    const container = await containers
      .create(name, config, signal)
      .catch(async (error: unknown) => {
        const there = isEngineError(error, 'Conflict')
          ? await containers.inspect(name, signal)
          : undefined;
        // The answer of an earlier call was lost, and that call created this container.
        if (there && runOf(there.labels)?.cluster === identity.cluster) return there.id;
        throw error;
      });
    await containers.start(container, signal);
  }
}

/** Awaits the work unless it is given up meanwhile. The work continues then, for its other callers. */
async function orGivenUp<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(new Error('the workload is being stopped'));
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
