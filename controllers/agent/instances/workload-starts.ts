import { type Clock, done, messageOf, requeueAfter, type Result } from 'kedge';
import type { Instance, InstanceMount } from '../../instance/kind.js';
import type { ControllerPolicy } from '../../policy/policy.js';
import { type InstanceNotes, inputsReason, mountedVolumesOf, noted } from './instance-notes.js';
import { ReadyDelay } from './ready-delay.js';
import { specOf } from './workload-spec.js';
import type { Runtime, WorkloadMount, WorkloadState } from '../runtime/runtime.js';
import type { StartBackoff } from './start-backoff.js';
import type { VolumeManager } from '../volumes/volume-manager.js';
import type { WorkloadInputs } from '../inputs/workload-inputs.js';
import { startRefused } from '../../messages/starts.js';

/** Dependencies of {@link WorkloadStarts}. */
export interface WorkloadStartsOptions {
  readonly volumeManager: VolumeManager;
  readonly notes: InstanceNotes;
  readonly inputs: WorkloadInputs;
  readonly backoff: StartBackoff;
  /** The image of the instance or of another one with the same template, by digest. */
  readonly pinnedImage: (instance: Instance) => string | undefined;
  readonly clock: Clock;
  readonly policy: ControllerPolicy;
}

/** Starts the workload of an instance on this node: volumes, inputs, then the runtime. */
export class WorkloadStarts {
  readonly #options: WorkloadStartsOptions;
  readonly #readyDelay: ReadyDelay;
  /** Number of probes of a starting workload, by instance uid. */
  readonly #probes = new Map<string, number>();
  /** Starts in progress at the runtime, by instance uid. */
  readonly #begun = new Map<string, Promise<void>>();
  #isClosed = false;

  constructor(options: WorkloadStartsOptions) {
    this.#options = options;
    this.#readyDelay = new ReadyDelay(options.clock);
  }

  /** Begins no further starts: reconciles that a stop no longer awaits may continue. */
  close(): void {
    this.#isClosed = true;
  }

  /** Waits for the start of an instance in progress at its runtime, so that a stop finds the workload. Never rejects. */
  async begun({ metadata: { uid } }: Instance): Promise<void> {
    await this.#begun.get(uid)?.catch(() => undefined);
  }

  /** Takes the next step of a start, or reports the awaited condition in the instance. */
  async start(instance: Instance, runtime: Runtime): Promise<Result> {
    const { uid } = instance.metadata;
    const { backoff, notes, volumeManager } = this.#options;
    const leftMs = backoff.leftMs(instance);
    if (leftMs > 0) return requeueAfter(leftMs);
    const mounts: InstanceMount[] = [];
    const binds: WorkloadMount[] = [];
    const outcomes = await Promise.all(
      (instance.template.volumes ?? []).map((mount) => volumeManager.ensure(instance, mount)),
    );
    for (const outcome of outcomes) {
      if (outcome.type === 'mounted') {
        const { mount, source, subPath } = outcome;
        mounts.push(mount);
        const { mountPath: target, readOnly } = mount;
        binds.push({ source, target, readOnly, ...(subPath !== undefined && { subPath }) });
        continue;
      }
      const { reason, message } = outcome;
      const failed = outcome.retry ? backoff.failed(instance) : undefined;
      await notes.note(
        instance,
        'Pending',
        [noted('VolumesReady', false, reason, message), noted('Ready', false, reason, message)],
        failed ? { failureMessage: message, backoff: failed.backoff } : { failureMessage: '' },
      );
      return failed ? requeueAfter(failed.delayMs) : done();
    }
    const inputs = await this.#options.inputs.of(instance);
    const volumesReady = noted('VolumesReady', true, 'Mounted', mountedVolumesOf(mounts));
    if (inputs.type !== 'ready') {
      const { type, message } = inputs;
      const failed = type === 'failed' ? backoff.failed(instance) : undefined;
      await notes.note(
        instance,
        'Pending',
        [
          volumesReady,
          noted('ContainersReady', false, inputsReason[type], message),
          noted('Ready', false, inputsReason[type], message),
        ],
        failed ? { backoff: failed.backoff } : {},
      );
      return failed ? requeueAfter(failed.delayMs) : done();
    }
    if (this.#isClosed) return done();
    const starting = noted('Ready', false, 'Starting', 'the workload is being started');
    await notes.note(instance, 'Starting', [volumesReady, starting], { mounts });
    const pinned = this.#options.pinnedImage(instance);
    const spec = specOf(instance, {
      env: inputs.env,
      mounts: [...binds, ...inputs.mounts],
      ...(pinned && { pinnedImage: pinned }),
    });
    // No workload may start once those of the node are stopped.
    if (this.#isClosed) return done();
    const begun = runtime.start(spec);
    this.#begun.set(uid, begun);
    try {
      await begun;
    } catch (error) {
      return await this.#noteFailed(instance, messageOf(error));
    } finally {
      this.#begun.delete(uid);
    }
    const state = await runtime.observe(uid);
    if (state.state === 'startFailed') return this.failed(instance, runtime, state);
    if (state.state === 'starting') return this.starting(instance, state);
    if (state.state !== 'running') return requeueAfter(this.probeAfterMs(instance));
    return this.running(instance, state, mounts);
  }

  /** Reports the awaited condition of a workload, if the runtime returns one, and requeues for the next probe. */
  async starting(
    instance: Instance,
    state: Extract<WorkloadState, { state: 'starting' | 'ending' }>,
  ): Promise<Result> {
    const message = state.state === 'starting' ? state.message : undefined;
    if (message !== undefined)
      await this.#options.notes.note(instance, 'Starting', [
        noted('ContainersReady', false, 'Pulling', message),
        noted('Ready', false, 'Pulling', message),
      ]);
    return requeueAfter(this.probeAfterMs(instance));
  }

  /**
   * Counts a probe of a starting workload, and returns the delay until the next one, milliseconds. The delay increases,
   * because the outcome is also notified.
   */
  probeAfterMs({ metadata: { uid } }: Instance): number {
    const { startingProbeMs, workloadProbeMs } = this.#options.policy;
    const probes = this.#probes.get(uid) ?? 0;
    this.#probes.set(uid, probes + 1);
    return Math.min(startingProbeMs * 2 ** Math.min(probes, 20), workloadProbeMs);
  }

  /** Reports a failed start once, and starts another run after the backoff. */
  async failed(
    instance: Instance,
    runtime: Runtime,
    failed: Extract<WorkloadState, { state: 'startFailed' }>,
  ): Promise<Result> {
    const { uid } = instance.metadata;
    if (instance.backoff?.run === failed.run) return this.start(instance, runtime);
    this.#probes.delete(uid);
    return this.#noteFailed(instance, failed.message, failed);
  }

  /**
   * Updates the files of a running workload, reports it in the status and clears its failed starts. Requeues for the
   * next probe.
   */
  async running(
    instance: Instance,
    state: Extract<WorkloadState, { state: 'running' }>,
    mounts: readonly InstanceMount[],
  ): Promise<Result> {
    this.#probes.delete(instance.metadata.uid);
    const { inputs, notes, policy } = this.#options;
    const files = await inputs.follow(instance);
    const backoff = this.#options.backoff.running(instance);
    const readyInMs = this.#readyDelay.leftMs(instance, state);
    await notes.running(instance, { state, mounts, files, readyInMs, backoff });
    const { workloadProbeMs } = policy;
    return requeueAfter(readyInMs > 0 ? Math.min(readyInMs, workloadProbeMs) : workloadProbeMs, 0);
  }

  /** Forgets an instance that starts over or was deleted. */
  forget(uid: string): void {
    this.#probes.delete(uid);
    this.#readyDelay.forget(uid);
  }

  async #noteFailed(
    instance: Instance,
    why: string,
    of?: Extract<WorkloadState, { state: 'startFailed' }>,
  ): Promise<Result> {
    const reason = of?.reason ?? 'StartFailed';
    const message = `${startRefused.format()} ${why}`;
    const { backoff, notes } = this.#options;
    const isNoRestart = reason === 'ImagePullFailed' || of?.withoutContainer === true;
    const failed = backoff.failed(instance, of?.run, isNoRestart);
    await notes.note(
      instance,
      'Failed',
      [noted('ContainersReady', false, reason, message), noted('Ready', false, reason, message)],
      { failureMessage: message, backoff: failed.backoff },
    );
    return requeueAfter(failed.delayMs);
  }
}
