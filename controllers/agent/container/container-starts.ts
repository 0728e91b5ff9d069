import { messageOf } from 'kedge';
import type { WorkloadSpec, WorkloadState } from '../runtime/runtime.js';
import type { ClusterNetwork } from './cluster-network.js';
import { containerConfig } from './container-config.js';
import type { ContainerRecords } from './container-records.js';
import type { EngineContainers } from './engine/engine-containers.js';
import { isEngineError } from './engine/engine-error.js';
import type { Images } from './images.js';
import { propagationOf } from './mount-propagation.js';
import { containerName, type RunIdentity, runOf } from './run-identity.js';

/** Ports of {@link ContainerStarts}. */
export interface ContainerStartsOptions {
  readonly containers: EngineContainers;
  readonly cluster: string;
  readonly records: ContainerRecords;
  readonly network: ClusterNetwork;
  readonly images: Images;
  /** Of the runtime: aborts with it. */
  readonly signal: AbortSignal;
}

type Attempt = Extract<WorkloadState, { state: 'starting' | 'startFailed' }>;

/** Starts that are under way, and those that failed before the engine could keep why. */
export class ContainerStarts {
  readonly #options: ContainerStartsOptions;
  readonly #attempts = new Map<string, Attempt>();
  readonly #givenUp = new Map<string, AbortController>();

  constructor(options: ContainerStartsOptions) {
    this.#options = options;
  }

  /** The last start, where the engine does not tell its outcome. */
  stateOf(id: string): Attempt | undefined {
    return this.#attempts.get(id);
  }

  /** A start that waits for its image is not wanted any more. */
  giveUp(id: string): void {
    this.#givenUp.get(id)?.abort();
  }

  /** The workload is gone. */
  forget(id: string): void {
    this.#attempts.delete(id);
  }

  /**
   * Starts a new run; {@link stateOf} and the engine tell the outcome.
   * @param before its runs that have a container, the earlier one first; none of them runs
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
      // First of all: what the engine has is on record, also when this process is killed now.
      await records.begin(id, run);
      await this.#run(spec, { cluster, id, run }, before, givenUp.signal);
      this.#attempts.delete(id);
    } catch (error) {
      this.#attempts.set(id, { state: 'startFailed', run, message: messageOf(error) });
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
    const { containers, images, network, signal } = this.#options;
    // The one before is kept for its log and its end. A container that turns out to run can't be removed.
    const [kept, ...older] = before.toReversed();
    for (const { container } of older) await containers.remove(container, signal);
    if (kept && (await containers.inspect(kept.container, signal))?.state === 'created')
      await containers.remove(kept.container, signal);
    const told = (message: string): void => {
      this.#attempts.set(spec.id, { state: 'starting', run: identity.run, message });
    };
    if (spec.image === undefined) throw new Error('it has no image');
    const image = await orGivenUp(
      images.provide(spec.image, spec.imagePull ?? 'missing', told, signal),
      givenUp,
    );
    this.#attempts.set(spec.id, { state: 'starting', run: identity.run });
    await network.ensure(signal);
    const propagations = await propagationOf(spec.mounts.map(({ source }) => source));
    const mounts = spec.mounts.map((mount, index) => ({
      ...mount,
      propagation: propagations[index] ?? ('rprivate' as const),
    }));
    const plan = { spec, identity, image: image.id, network: network.name, mounts };
    if (givenUp.aborted) throw new Error('it was asked to end');
    const name = containerName(identity);
    const container = await containers
      .create(name, containerConfig(plan), signal)
      .catch(async (error: unknown) => {
        const there = isEngineError(error, 'Conflict')
          ? await containers.inspect(name, signal)
          : undefined;
        // An answer that was lost: the call before it made this container.
        if (there && runOf(there.labels)?.cluster === identity.cluster) return there.id;
        throw error;
      });
    await containers.start(container, signal);
  }
}

/** The work, unless it is given up meanwhile: it goes on then, for others. */
async function orGivenUp<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => reject(new Error('it was asked to end'));
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
