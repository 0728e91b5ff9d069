import { createHash } from 'node:crypto';
import type { JsonObject } from 'kedge/rpc';
import { type ControllerPolicy, defaultPolicy } from '../../policy/policy.js';
import { unenforcedLimits } from './limits/changed-limits.js';
import { tableOf } from './engine/answer-fields.js';
import type { ContainerInspection, EngineContainers } from './engine/engine-containers.js';
import { isEngineError } from './engine/engine-error.js';
import { killUnrecorded, UnrecordedProcesses } from './engine/unrecorded-processes.js';
import { ImageError } from './images/images.js';
import { type ComparedMount, unseenMount } from './mounts/unseen-mount.js';
import { containerName, engineLabels, type RunIdentity, runOf } from './run-identity.js';
import {
  containerNameTaken,
  containerUnsettled,
  mountUnseen,
  strictLimitsRefused,
} from '../../messages/starts.js';

/** Dependencies of {@link RunContainer}. */
export interface RunContainerOptions {
  readonly containers: EngineContainers;
  readonly signal: AbortSignal;
  /** Default: the policy of an unconfigured daemon. */
  readonly policy?: ControllerPolicy | undefined;
}

/** A start whose outcome is unknown: the daemon or the engine may have been killed during it. */
class UnsettledStart extends Error {
  override readonly name = 'UnsettledStart';
}

/** A container was removed after its start, because it has other mounts than this process. */
export class OtherMounts extends Error {
  override readonly name = 'OtherMounts';
}

/** Creates and starts the container of a run, also if an earlier process of the daemon began to. */
export class RunContainer {
  readonly #options: RunContainerOptions;

  constructor(options: RunContainerOptions) {
    this.#options = options;
  }

  /**
   * Starts the container that an earlier attempt of this run created; creates it if there is none, or if its
   * configuration differs. No-op if it runs. The name is unique in the engine, so a start that is still in progress
   * there does not lead to a second container.
   * @param same ids of the containers of this run; those with another name were created by an earlier release and are
   * removed
   * @param check checks the sources of the mounts; called before each step in which the engine resolves them
   * @param strict whether the start fails if the engine does not enforce a limit of the configuration
   * @throws UnsettledStart, UnrecordedProcesses or EngineError; Error if a container of others has the name or a
   * strict limit is not enforced; errors of `check`. {@link isUnsettled} says whether the outcome is unknown
   */
  async start(
    identity: RunIdentity,
    config: JsonObject,
    same: readonly string[],
    check: () => Promise<void>,
    strict = false,
  ): Promise<void> {
    const { containers, signal, policy = defaultPolicy } = this.#options;
    const { containerStartTimeoutMs: startMs } = policy;
    const digest = createHash('sha256').update(JSON.stringify(config)).digest('hex');
    const labels = { ...tableOf(config, 'Labels'), [engineLabels.config]: digest };
    const name = containerName(identity);
    await check();
    const before = await this.#own(name, identity);
    for (const other of same) if (other !== before?.id) await this.discard(other);
    if (before && before.labels[engineLabels.config] === digest)
      try {
        if (strict) await this.#requireLimits(before.id);
        return await containers.start(before.id, signal, startMs);
      } catch (error) {
        // After a kill the engine may be unable to start a container that it created.
        if (isUnsettled(error)) throw error;
      }
    if (before) await this.discard(before.id);
    const container = await containers
      .create(name, { ...config, Labels: labels }, signal)
      .catch(async (error: unknown) => {
        if (!isEngineError(error, 'Conflict')) throw error;
        // The call of an earlier attempt created it meanwhile.
        const there = await this.#own(name, identity);
        if (there) return there.id;
        const foreign = await containers.inspect(name, signal);
        if (foreign)
          throw new Error(
            `${containerNameTaken.format({ container: name })}; remove that container (docker rm -f ${name}), or rename it`,
            { cause: error },
          );
        // The engine still creates or removes a container of this name.
        throw new UnsettledStart(containerUnsettled.format({ container: name }), { cause: error });
      });
    await check();
    if (strict) await this.#requireLimits(container);
    await containers.start(container, signal, startMs);
  }

  /**
   * Removes the started container of a run if it has other mounts than this process: its files would be on the disk of
   * the node instead of the volume.
   * @param known the container, if the caller has inspected it
   * @throws OtherMounts once the container is removed; other errors leave it unknown whether the mounts differ
   */
  async requireMounts(
    identity: RunIdentity,
    mounts: readonly ComparedMount[],
    known?: ContainerInspection,
  ): Promise<void> {
    const { containers, signal } = this.#options;
    const name = containerName(identity);
    const inspect = (): Promise<ContainerInspection | undefined> =>
      known ? Promise.resolve(known) : this.#own(name, identity);
    const unseen = await unseenMount(mounts, inspect);
    if (!unseen) return;
    await containers.remove(known?.id ?? name, signal, { force: true });
    const { source, target } = unseen;
    throw new OtherMounts(
      `mount ${target}: ${mountUnseen.format({ source })}, because they run in different mount namespaces; remove PrivateTmp, PrivateMounts, ProtectSystem and similar options from the unit of kedged, or mount the data directory with propagation rshared if kedged runs in a container`,
    );
  }

  /** Discards a container whose limits the engine did not accept. @throws Error with those limits */
  async #requireLimits(container: string): Promise<void> {
    const found = await this.#options.containers.inspect(container, this.#options.signal);
    const lacking = found && unenforcedLimits(found);
    if (lacking === undefined) return;
    await this.discard(container);
    throw new Error(
      `the container engine does not enforce ${lacking}, ${strictLimitsRefused.format()}; choose a node whose kernel has these limits, or remove strict`,
    );
  }

  /**
   * Kills the processes of a container that never started by the engine's records, and removes it.
   * @throws UnrecordedProcesses or EngineError; the container is kept then
   */
  async discard(container: string): Promise<void> {
    const { containers, signal } = this.#options;
    await killUnrecorded(container);
    await containers.remove(container, signal);
  }

  async #own(name: string, { cluster }: RunIdentity): Promise<ContainerInspection | undefined> {
    const { containers, signal } = this.#options;
    const found = await containers.inspect(name, signal);
    return found && runOf(found.labels)?.cluster === cluster ? found : undefined;
  }
}

/**
 * Whether the outcome of a start is unknown after this error. Then the next attempt is the same run, so that no second
 * container is created and no restart is counted.
 */
export function isUnsettled(error: unknown): boolean {
  if (error instanceof UnsettledStart || error instanceof UnrecordedProcesses) return true;
  return isConnectionLoss(error) || isEngineError(causeOf(error), 'Timeout');
}

/** Whether a start ended because the connection to the engine was lost. */
export function isConnectionLoss(error: unknown): boolean {
  return isEngineError(causeOf(error), 'Unreachable', 'Broken', 'Cancelled');
}

function causeOf(error: unknown): unknown {
  return error instanceof ImageError ? error.cause : error;
}
