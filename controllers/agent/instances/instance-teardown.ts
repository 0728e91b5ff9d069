import {
  type Clock,
  done,
  findCondition,
  type Logger,
  messageOf,
  type ObjectStore,
  removeFinalizer,
  requeueAfter,
  type Result,
  retry,
} from 'kedge';
import { agentFinalizer } from '../../instance/index.js';
import { type Instance, instances } from '../../instance/kind.js';
import type { WorkloadInputs } from '../inputs/workload-inputs.js';
import type { AbandonedWaits } from '../recovery/abandoned-waits.js';
import type { Runtime, StopProgress } from '../runtime/runtime.js';
import { claimOf, type VolumeManager } from '../volumes/volume-manager.js';
import { type InstanceNotes, noted } from './instance-notes.js';
import { graceMsOf, runtimeOf } from './instance-runtime.js';
import type { WorkloadStarts } from './workload-starts.js';

/** A stop that is not answered within this time is reported. */
const unansweredMs = 1_000;

/** Reasons of a teardown that has begun. */
const reported: readonly string[] = ['Stopping', 'StopFailed', 'Detaching', 'DetachFailed'];

/** Dependencies of {@link InstanceTeardown}. */
export interface InstanceTeardownOptions {
  readonly store: ObjectStore;
  readonly runtimes: readonly Runtime[];
  readonly volumeManager: VolumeManager;
  readonly notes: InstanceNotes;
  readonly inputs: WorkloadInputs;
  readonly starts: WorkloadStarts;
  readonly waits: AbandonedWaits;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The message of a stop in progress. @param sent the last signal that was sent; undefined before the first one */
export function stopMessage(sent: string | undefined, graceSeconds: number): string {
  if (sent === undefined) return 'it is stopped once its start has ended';
  if (sent === 'SIGKILL') return 'SIGKILL sent; its processes have not ended yet';
  return `${sent} sent; SIGKILL follows after ${graceSeconds} s`;
}

/** Removes the resources of a deleted instance from its node. */
export class InstanceTeardown {
  readonly #options: InstanceTeardownOptions;

  constructor(options: InstanceTeardownOptions) {
    this.#options = options;
  }

  /**
   * Executes the next steps of a teardown: stops the workload, unmounts and detaches its volumes, removes its files and
   * records, and removes the finalizer last. The end of a workload, and a release that takes long, are not awaited: the
   * key is requeued, or queued by the end of the step, so that slow ones do not delay others.
   */
  async run(instance: Instance): Promise<Result> {
    if (!(instance.metadata.finalizers ?? []).includes(agentFinalizer)) return done();
    const { store, runtimes, volumeManager, notes, inputs, starts, waits } = this.#options;
    const { uid } = instance.metadata;
    const runtime = runtimeOf(runtimes, instance);
    try {
      const stopping = runtime && (await this.#requestStop(instance, runtime));
      if (stopping?.type === 'stopping') {
        const message = stopMessage(stopping.sent, graceMsOf(instance) / 1_000);
        await notes.stopping(instance, noted('Ready', false, 'Stopping', message));
        return requeueAfter(stopping.checkInMs);
      }
    } catch (error) {
      const message = messageOf(error);
      const condition = noted('Ready', false, 'StopFailed', message);
      await notes.stopping(instance, condition, { failureMessage: message });
      return retry(error);
    }
    const abandoned = await waits.before(instance);
    if (abandoned) return abandoned;
    try {
      if (!(await volumeManager.releaseWithSoftTimeout(claimOf(instance)))) {
        // A reported failure is kept during retries: each change would requeue this key immediately.
        if (findCondition(instance.conditions, 'Ready')?.reason === 'DetachFailed') return done();
        const message = 'its volumes are being detached';
        await notes.note(instance, 'Stopped', [noted('Ready', false, 'Detaching', message)]);
        return done();
      }
    } catch (error) {
      const message = messageOf(error);
      await notes.note(instance, 'Stopped', [noted('Ready', false, 'DetachFailed', message)], {
        failureMessage: message,
      });
      return retry(error);
    }
    try {
      await runtime?.remove(uid);
    } catch (error) {
      const message = messageOf(error);
      await notes.note(instance, 'Stopped', [noted('Ready', false, 'StopFailed', message)], {
        failureMessage: message,
      });
      return retry(error);
    }
    await inputs.remove(instance);
    starts.forget(uid);
    await removeFinalizer(store, instances, instance, agentFinalizer);
    return done();
  }

  /**
   * Requests the stop of the workload. If the runtime does not answer soon, the status says so: before, it may be that of a
   * workload that starts.
   */
  async #requestStop(instance: Instance, runtime: Runtime): Promise<StopProgress> {
    const { clock, logger, notes } = this.#options;
    const isReported = reported.includes(findCondition(instance.conditions, 'Ready')?.reason ?? '');
    const message = `its stop was requested, and runtime ${runtime.name} has not answered yet`;
    let report = Promise.resolve();
    const timer = clock.setTimer(() => {
      if (isReported) return;
      report = notes
        .stopping(instance, noted('Ready', false, 'Stopping', message))
        .catch((error: unknown) =>
          // The stop is more important. Its outcome is reported too.
          logger.warn('a stop that takes long is not reported', {
            instance: claimOf(instance),
            error: messageOf(error),
          }),
        );
    }, unansweredMs);
    try {
      return await runtime.requestStop(instance.metadata.uid, graceMsOf(instance));
    } finally {
      timer.cancel();
      // A later report must not be overtaken.
      await report;
    }
  }
}
