import {
  type Clock,
  type Controller,
  done,
  hasCode,
  isDeleting,
  keyString,
  type Logger,
  type Manager,
  messageOf,
  newController,
  type ObjectStore,
  type Random,
  type Request,
  requeueAfter,
  type Result,
  retry,
  type Runnable,
} from 'kedge';
import { configmaps } from '../configmap/kind.js';
import { reportingRefusals } from '../event/reconcile-refusals.js';
import { type Instance, instances } from '../instance/kind.js';
import { secrets } from '../secret/kind.js';
import { backoffOf, type ControllerPolicy } from '../policy/policy.js';
import type { Sealer } from '../secret/index.js';
import { classOfInstance, watchInstances } from './agent-watches.js';
import { AgentShutdown } from './agent-shutdown.js';
import { AbandonedWaits } from './recovery/abandoned-waits.js';
import { AbandonedWorkloads } from './recovery/abandoned-workloads.js';
import type { DataFiles } from './inputs/data-files.js';
import { InstanceNotes, noted } from './instances/instance-notes.js';
import { graceMsOf, missingRuntime, runtimeOf } from './instances/instance-runtime.js';
import { InstanceTeardown } from './instances/instance-teardown.js';
import { crashPriority, isOver } from './instances/restart.js';
import { RestartTurns } from './instances/restart-turns.js';
import type { Runtime, WorkloadState } from './runtime/runtime.js';
import { RuntimeWaits } from './instances/runtime-waits.js';
import { lostVolume } from './volumes/lost-volume.js';
import { pinnedImage } from './instances/pinned-image.js';
import { StartBackoff } from './instances/start-backoff.js';
import { claimOf, type VolumeManager } from './volumes/volume-manager.js';
import { WorkloadInputs } from './inputs/workload-inputs.js';
import { WorkloadRestarts } from './instances/workload-restarts.js';
import { WorkloadStarts } from './instances/workload-starts.js';
import { volumeLabel } from '../messages/storage.js';

/** Dependencies of the agent. */
export interface AgentOptions {
  readonly store: ObjectStore;
  readonly manager: Manager;
  readonly node: string;
  readonly runtimes: readonly Runtime[];
  readonly volumeManager: VolumeManager;
  readonly sealer: Sealer;
  /** For the files of secretMounts and configmapMounts. */
  readonly dataFiles: DataFiles;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly policy: ControllerPolicy;
}

/** Concurrent reconciles: of all instances, and of those with volumes of one class or without volumes. */
const workers = { all: 512, perClass: 16 };

/** Runs the instances bound to this node: volumes first, then the workload; in reverse to stop. */
export class Agent implements Runnable {
  readonly name = 'agent';
  readonly #options: AgentOptions;
  readonly #controller: Controller;
  readonly #starts: WorkloadStarts;
  readonly #restarts: WorkloadRestarts;
  readonly #turns: RestartTurns;
  readonly #runtimeWaits: RuntimeWaits;
  readonly #shutdown: AgentShutdown;
  readonly #notes: InstanceNotes;
  readonly #inputs: WorkloadInputs;
  readonly #waits: AbandonedWaits;
  readonly #teardown: InstanceTeardown;

  constructor(options: AgentOptions) {
    this.#options = options;
    const { manager, logger, policy } = options;
    const backoff = backoffOf(policy, 'start');
    this.#notes = new InstanceNotes(options);
    const startBackoff = new StartBackoff(options);
    const abandoned = new AbandonedWorkloads(options);
    this.#waits = new AbandonedWaits({ ...options, abandoned });
    const sources = {
      secrets: manager.informer(secrets).lister,
      configmaps: manager.informer(configmaps).lister,
      sealer: options.sealer,
    };
    this.#inputs = new WorkloadInputs(sources, options.dataFiles, logger);
    this.#starts = new WorkloadStarts({
      volumeManager: options.volumeManager,
      notes: this.#notes,
      inputs: this.#inputs,
      backoff: startBackoff,
      pinnedImage: (instance) => pinnedImage(manager.informer(instances).lister, instance),
      clock: options.clock,
      policy,
    });
    const parts = { ...options, notes: this.#notes, inputs: this.#inputs, starts: this.#starts };
    this.#turns = new RestartTurns((key) => this.#controller.enqueue(key, crashPriority));
    this.#runtimeWaits = new RuntimeWaits({
      clock: options.clock,
      probeMs: policy.workloadProbeMs,
      wake: (key) => this.#controller.enqueue(key),
    });
    this.#restarts = new WorkloadRestarts({ ...parts, backoff: startBackoff, turns: this.#turns });
    this.#shutdown = new AgentShutdown({ ...parts, abandoned });
    this.#teardown = new InstanceTeardown({ ...parts, waits: this.#waits });
    this.#controller = newController({
      ...manager.ports,
      name: 'agent',
      reconcile: reportingRefusals<Instance, Request>(
        { ...options, kind: instances, source: 'agent' },
        (request) => this.#reconcile(request).finally(() => this.#turns.ended(request.key)),
      ),
      concurrency: workers.all,
      // Instances whose provider does not answer delay none of another class.
      groupOf: classOfInstance(manager),
      groupConcurrency: workers.perClass,
      backoff,
    });
    const keysOfUid = watchInstances(this.#controller, options);
    options.volumeManager.onChange((claim) => {
      const [namespace = '', name = ''] = claim.split('/');
      this.#controller.enqueue({ namespace, name });
    });
    for (const runtime of options.runtimes)
      runtime.onChange((id) => {
        const found = keysOfUid(id);
        const keys = found.length > 0 ? found : this.#waits.takeWaiting();
        for (const key of keys) this.#controller.enqueue(key);
      });
  }

  /**
   * Stops abandoned workloads, then adopts mounts of earlier processes, then prepares the files of secretMounts and
   * configmapMounts, then starts the controller. If an abandoned workload does not end, no mounts are adopted.
   */
  async start(): Promise<void> {
    const { store, volumeManager } = this.#options;
    if (await this.#shutdown.endAbandoned())
      await volumeManager.adopt((claim) => this.#mayRun(claim));
    const { items } = await store.list(instances);
    await this.#inputs.open(new Set(items.map(({ metadata }) => metadata.uid)));
    await this.#controller.start();
  }

  refreshMetrics(): void {
    this.#controller.refreshMetrics();
  }

  /**
   * Stops the controller and the workloads of this node, releases their volumes within the budget, closes the runtimes.
   */
  async stop(budgetMs: number): Promise<void> {
    const { clock } = this.#options;
    const end = clock.monotonic() + budgetMs;
    this.#runtimeWaits.close();
    this.#starts.close();
    await this.#controller.stop(Math.min(1_000, budgetMs));
    await this.#shutdown.run(Math.max(0, end - clock.monotonic()));
    await this.#inputs.close();
    for (const runtime of this.#options.runtimes) runtime.close();
  }

  async #reconcile(request: Request): Promise<Result> {
    this.#runtimeWaits.forget(request.key);
    const instance = await this.#instanceOf(request.key);
    if (instance?.node !== this.#options.node) return this.#releaseOrphan(request);
    if (isDeleting(instance)) return this.#teardown.run(instance);
    const runtime = runtimeOf(this.#options.runtimes, instance);
    if (!runtime) return this.#withoutRuntime(instance);
    const availability = await runtime.availability();
    if (!availability.available) {
      const { message } = availability;
      await this.#notes.runtimeUnavailable(instance, message);
      this.#runtimeWaits.wait(request.key, runtime, message);
      return done();
    }
    const state = await runtime.observe(instance.metadata.uid).catch(messageOf);
    if (typeof state === 'string') return this.#unseen(instance, state);
    const waits = await this.#stopAfterLoss(instance, runtime, state);
    if (waits) return waits;
    switch (state.state) {
      case 'starting':
      case 'ending':
        return this.#starts.starting(instance, state);
      case 'running': {
        const next = await this.#starts.running(instance, state, instance.mounts ?? []);
        await runtime.housekeep(instance.metadata.uid);
        await this.#options.volumeManager.growPending(claimOf(instance));
        return next;
      }
      case 'exited':
        return this.#restarts.afterExit(instance, runtime, state);
      case 'startFailed':
        return this.#starts.failed(instance, runtime, state);
      case 'absent':
        if (isOver(instance)) return done();
        return (await this.#waits.before(instance)) ?? this.#starts.start(instance, runtime);
    }
  }

  /**
   * Stops and unmounts a workload that lost its volume. It restarts once the volume is attached again. Undefined if the
   * workload lost no volume, or had ended before and all its volumes are released now.
   */
  async #stopAfterLoss(
    instance: Instance,
    runtime: Runtime,
    { state }: WorkloadState,
  ): Promise<Result | undefined> {
    const { volumeManager } = this.#options;
    const claim = claimOf(instance);
    const mayWrite = state === 'running' || state === 'starting';
    if (!mayWrite && (state !== 'exited' || !volumeManager.holds(claim))) return undefined;
    const taken = await lostVolume(this.#options, instance);
    if (!taken) return undefined;
    const { volume, isLeaving } = taken;
    const message = `${volumeLabel.format({ volume })} was force-detached while the node was not Ready; the workload is stopped and restarts once the volume is attached again`;
    const lost = noted('Ready', false, 'VolumeTaken', message);
    try {
      const stopping = await runtime.requestStop(instance.metadata.uid, graceMsOf(instance));
      await this.#notes.note(instance, undefined, [lost]);
      if (stopping.type === 'stopping') return requeueAfter(stopping.checkInMs);
      // A change of the volume, or the end of the release, queues this key.
      if (isLeaving || !(await volumeManager.releaseWithSoftTimeout(claim))) return done();
      return mayWrite ? requeueAfter(0) : undefined;
    } catch (error) {
      return retry(error);
    }
  }

  /** Whether a claim's workload may run on this node. True if its state can't be observed. */
  async #mayRun(claim: string): Promise<boolean> {
    const [namespace = '', name = ''] = claim.split('/');
    const instance = await this.#instanceOf({ namespace, name });
    if (instance?.node !== this.#options.node) return false;
    const runtime = runtimeOf(this.#options.runtimes, instance);
    const state = await runtime?.observe(instance.metadata.uid).catch(messageOf);
    return typeof state === 'string' || state?.state === 'running' || state?.state === 'starting';
  }

  /**
   * Reports that a workload can't be observed. The runtime does not notify the agent of the recovery, so the key is
   * requeued.
   */
  async #unseen(instance: Instance, message: string): Promise<Result> {
    await this.#notes.runtimeUnavailable(instance, message);
    return requeueAfter(this.#options.policy.workloadProbeMs);
  }

  /**
   * Reports that this agent does not have the runtime of the instance. The agent's runtimes are fixed, so the key is
   * not requeued.
   */
  async #withoutRuntime(instance: Instance): Promise<Result> {
    await this.#notes.runtimeUnavailable(instance, missingRuntime(instance, this.#options));
    return done();
  }

  /**
   * Reads the instance of a key. Undefined if it does not exist, or if the node's token may not read it because it was
   * recreated on another node.
   */
  async #instanceOf(key: Request['key']): Promise<Instance | undefined> {
    const { store, manager } = this.#options;
    try {
      return await store.get(instances, key);
    } catch (error) {
      const cached = manager.informer(instances).lister.get(keyString(key));
      if (!hasCode(error, 'PermissionDenied') || cached?.node === this.#options.node) throw error;
      return undefined;
    }
  }

  /** Stops the workload and releases the volumes of a claim whose instance was deleted or is on another node. */
  async #releaseOrphan({ key }: Request): Promise<Result> {
    const { volumeManager, logger } = this.#options;
    const stopping = await this.#waits.stopFor(key);
    if (stopping) return stopping;
    const claim = `${key.namespace ?? ''}/${key.name}`;
    if (!volumeManager.holdsHere(claim)) return done();
    logger.warn('volumes are still held for an instance that is not on this node', { claim });
    try {
      await volumeManager.releaseWithSoftTimeout(claim);
      return done();
    } catch (error) {
      return retry(error);
    }
  }
}
