import {
  type Clock,
  type Controller,
  done,
  isDeleting,
  type Logger,
  type Manager,
  messageOf,
  newController,
  type ObjectStore,
  type Random,
  removeFinalizer,
  type Request,
  requeueAfter,
  type Result,
  retry,
  type Runnable,
} from 'kedge';
import { agentFinalizer } from '../instance/index.js';
import {
  configmaps,
  type Instance,
  type InstanceMount,
  type InstancePhase,
  instances,
  secrets,
  type Volume,
  volumes,
} from '../kinds/index.js';
import { RetryGate } from '../retry-gate.js';
import type { Sealer } from '../secret/index.js';
import { mountedVolumes, usedData } from '../service/index.js';
import type { DataFiles } from './data-files.js';
import { InstanceNotes, inputsReason, told } from './instance-notes.js';
import { decideRestart, wasHealthy } from './restart.js';
import type { Runtime, WorkloadSpec, WorkloadState } from './runtime.js';
import { claimOf, type VolumeManager } from './volume-manager.js';
import { WorkloadInputs } from './workload-inputs.js';

/** Ports of the agent. */
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
}

/** Running workloads are looked at this often, beside being told of their exit. */
const checkMs = 30_000;
const defaultGraceSeconds = 30;
const backoff = { baseMs: 500, maxMs: 60_000, jitter: 0.2 };

/** Keys of those that hold a volume on a node, by its own account: they may be gone. */
function holdersOf(volume: Volume, node: string): readonly { namespace: string; name: string }[] {
  return (volume.attachments ?? [])
    .filter((attachment) => attachment.node === node)
    .map(({ claim }) => {
      const [namespace = '', name = ''] = claim.split('/');
      return { namespace, name };
    });
}

/** Runs the instances bound to this node: volumes first, then the workload; the reverse to stop. */
export class Agent implements Runnable {
  readonly name = 'agent';
  readonly #options: AgentOptions;
  readonly #controller: Controller;
  readonly #gate: RetryGate;
  readonly #notes: InstanceNotes;
  readonly #inputs: WorkloadInputs;
  /** Short runs in a row by instance uid. */
  readonly #crashes = new Map<string, { readonly run: number; readonly count: number }>();

  constructor(options: AgentOptions) {
    this.#options = options;
    const { manager, clock, random, logger } = options;
    this.#gate = new RetryGate(clock, random, backoff);
    this.#notes = new InstanceNotes(options);
    const sources = {
      secrets: manager.informer(secrets).lister,
      configmaps: manager.informer(configmaps).lister,
      sealer: options.sealer,
    };
    this.#inputs = new WorkloadInputs(sources, options.dataFiles, logger);
    const informer = manager.informer(instances);
    informer.addIndex('volume', mountedVolumes);
    informer.addIndex('data', ({ namespace, template }) =>
      usedData(template).map((used) => `${used.kind} ${namespace}/${used.name}`),
    );
    informer.addIndex('uid', (instance) => [instance.metadata.uid]);
    const keysOf = (found: readonly Instance[]) =>
      found.map(({ namespace, name }) => ({ namespace, name }));
    this.#controller = newController({
      ...manager.ports,
      name: 'agent',
      reconcile: (request) => this.#reconcile(request),
      concurrency: 16,
      backoff,
    })
      .for(informer)
      .watches(manager.informer(volumes), (volume) => [
        ...keysOf(informer.lister.byIndex('volume', `${volume.namespace}/${volume.name}`)),
        ...holdersOf(volume, options.node),
      ])
      .watches(manager.informer(secrets), ({ namespace, name }) =>
        keysOf(informer.lister.byIndex('data', `secret ${namespace}/${name}`)),
      )
      .watches(manager.informer(configmaps), ({ namespace, name }) =>
        keysOf(informer.lister.byIndex('data', `configmap ${namespace}/${name}`)),
      );
    options.volumeManager.onChange((claim) => {
      const [namespace = '', name = ''] = claim.split('/');
      this.#controller.enqueue({ namespace, name });
    });
    for (const runtime of options.runtimes)
      runtime.onChange((id) => {
        for (const key of keysOf(informer.lister.byIndex('uid', id))) this.#controller.enqueue(key);
      });
  }

  /** What earlier lives left mounted is sorted out before anything is started or stopped. */
  async start(): Promise<void> {
    const { store, volumeManager } = this.#options;
    await volumeManager.adopt();
    const { items } = await store.list(instances);
    await this.#inputs.open(new Set(items.map(({ metadata }) => metadata.uid)));
    await this.#controller.start();
  }

  refreshMetrics(): void {
    this.#controller.refreshMetrics();
  }

  /** Workloads first, in parallel, each with its grace; then the volumes with what is left. */
  async stop(budgetMs: number): Promise<void> {
    const { clock, manager, node, volumeManager, logger } = this.#options;
    const end = clock.monotonic() + budgetMs;
    const left = (): number => Math.max(0, end - clock.monotonic());
    await this.#controller.stop(Math.min(1_000, left()));
    const mine = manager
      .informer(instances)
      .lister.list()
      .filter((instance) => instance.node === node);
    const busy = new Set<string>();
    await Promise.all(
      mine.map(async (instance) => {
        try {
          await this.#stopWorkload(instance, left());
          await this.#inputs.remove(instance);
          await this.#notes.note(instance, 'Stopped', [
            told('ContainersReady', false, 'DaemonStopped', 'stopped with the daemon'),
            told('Ready', false, 'DaemonStopped', 'stopped with the daemon'),
          ]);
        } catch (error) {
          busy.add(claimOf(instance));
          logger.warn('workload could not be stopped', {
            instance: claimOf(instance),
            error: messageOf(error),
          });
        }
      }),
    );
    await volumeManager.tearDown(left(), busy);
    await this.#inputs.close();
    for (const runtime of this.#options.runtimes) runtime.close();
  }

  #runtimeOf(instance: Instance): Runtime | undefined {
    const name = instance.template.runtime ?? 'container';
    return this.#options.runtimes.find((runtime) => runtime.name === name);
  }

  async #stopWorkload(instance: Instance, budgetMs: number): Promise<void> {
    const seconds = instance.template.terminationGracePeriodSeconds ?? defaultGraceSeconds;
    const graceMs = Math.min(seconds * 1_000, budgetMs);
    await this.#runtimeOf(instance)?.stop(instance.metadata.uid, graceMs);
  }

  async #reconcile(request: Request): Promise<Result> {
    const instance = await this.#options.store.get(instances, request.key);
    if (!instance) return this.#letGoOfOrphan(request);
    if (instance.node !== this.#options.node) return done();
    if (isDeleting(instance)) return this.#tearDown(instance);
    const runtime = this.#runtimeOf(instance);
    const unusable = await this.#whyUnusable(instance, runtime);
    if (!runtime || unusable !== undefined) {
      const message = unusable ?? '';
      await this.#notes.note(instance, 'Pending', [
        told('ContainersReady', false, 'RuntimeUnavailable', message),
        told('Ready', false, 'RuntimeUnavailable', message),
      ]);
      return done();
    }
    const state = await runtime.observe(instance.metadata.uid);
    switch (state.state) {
      case 'starting':
        return requeueAfter(500);
      case 'running':
        await this.#noteRunning(instance, state, instance.mounts ?? []);
        await runtime.rotateLog(instance.metadata.uid);
        await this.#options.volumeManager.growPending(claimOf(instance));
        return requeueAfter(checkMs);
      case 'exited':
        return (await this.#afterExit(instance, state)) ?? this.#start(instance, runtime);
      case 'absent':
        return this.#start(instance, runtime);
    }
  }

  async #whyUnusable(
    instance: Instance,
    runtime: Runtime | undefined,
  ): Promise<string | undefined> {
    const wanted = instance.template.runtime ?? 'container';
    if (!runtime) {
      const names = this.#options.runtimes.map((r) => r.name).join(', ') || 'none';
      return `runtime ${wanted} is not available on node ${this.#options.node}; it has: ${names}`;
    }
    const availability = await runtime.availability();
    return availability.available ? undefined : availability.message;
  }

  /** Undefined when it is time to start it again. */
  async #afterExit(
    instance: Instance,
    state: Extract<WorkloadState, { state: 'exited' }>,
  ): Promise<Result | undefined> {
    const { clock } = this.#options;
    const { uid } = instance.metadata;
    const counted = this.#crashes.get(uid);
    let crashes = counted?.count ?? 0;
    if (counted?.run !== state.run) {
      crashes = wasHealthy(state) ? 0 : counted ? counted.count + 1 : 0;
      this.#crashes.set(uid, { run: state.run, count: crashes });
    }
    const decision = decideRestart(instance.template.restartPolicy, state, crashes);
    if (decision.type === 'restart' && decision.atMs <= clock.now()) return undefined;
    const code = state.exitCode === undefined ? 'unknown' : String(state.exitCode);
    const waitMs = decision.type === 'restart' ? decision.atMs - clock.now() : 0;
    const next =
      decision.type === 'restart'
        ? `starts again in ${Math.ceil(waitMs / 1_000)} s`
        : `stays so by restartPolicy ${instance.template.restartPolicy ?? 'Always'}`;
    const message = `ended with exit code ${code}; ${next}`;
    const phase: InstancePhase = state.exitCode === 0 ? 'Exited' : 'Failed';
    await this.#notes.note(
      instance,
      phase,
      [told('ContainersReady', false, phase, message), told('Ready', false, phase, message)],
      {
        failureMessage: phase === 'Failed' ? message : '',
        pid: 0,
        ...(state.exitCode === undefined ? {} : { exitCode: state.exitCode }),
      },
    );
    return decision.type === 'restart' ? requeueAfter(waitMs) : done();
  }

  async #start(instance: Instance, runtime: Runtime): Promise<Result> {
    const { uid, generation } = instance.metadata;
    const leftMs = this.#gate.leftMs(uid, String(generation));
    if (leftMs > 0) return requeueAfter(leftMs);
    const mounts: InstanceMount[] = [];
    const { volumeManager } = this.#options;
    const outcomes = await Promise.all(
      (instance.template.volumes ?? []).map((mount) => volumeManager.ensure(instance, mount)),
    );
    for (const outcome of outcomes) {
      if (outcome.type === 'mounted') {
        mounts.push(outcome.mount);
        continue;
      }
      const { reason, message } = outcome;
      await this.#notes.note(
        instance,
        'Pending',
        [told('VolumesReady', false, reason, message), told('Ready', false, reason, message)],
        { failureMessage: outcome.retry ? message : '' },
      );
      if (!outcome.retry) return done();
      return requeueAfter(this.#gate.failed(uid, String(generation)));
    }
    const inputs = await this.#inputs.of(instance);
    const volumesReady = told('VolumesReady', true, 'Mounted', `${mounts.length} volumes mounted`);
    if (inputs.type !== 'ready') {
      const { type, message } = inputs;
      await this.#notes.note(instance, 'Pending', [
        volumesReady,
        told('ContainersReady', false, inputsReason[type], message),
        told('Ready', false, inputsReason[type], message),
      ]);
      return type === 'missing' ? done() : requeueAfter(this.#gate.failed(uid, String(generation)));
    }
    const starting = told('Ready', false, 'Starting', 'the workload is being started');
    await this.#notes.note(instance, 'Starting', [volumesReady, starting], { mounts });
    const { template } = instance;
    const spec: WorkloadSpec = {
      id: uid,
      command: [...(template.command ?? []), ...(template.args ?? [])],
      env: inputs.env,
      workingDir: template.workingDir || '/',
      mounts: [
        ...mounts.map((m) => ({ source: m.source, target: m.mountPath, readOnly: m.readOnly })),
        ...inputs.mounts,
      ],
    };
    try {
      await runtime.start(spec);
    } catch (error) {
      const message = `can't be started: ${messageOf(error)}`;
      await this.#notes.note(
        instance,
        'Failed',
        [
          told('ContainersReady', false, 'StartFailed', message),
          told('Ready', false, 'StartFailed', message),
        ],
        { failureMessage: message },
      );
      return requeueAfter(this.#gate.failed(uid, String(generation)));
    }
    this.#gate.clear(uid);
    const state = await runtime.observe(uid);
    if (state.state === 'running') await this.#noteRunning(instance, state, mounts);
    return requeueAfter(state.state === 'running' ? checkMs : 100);
  }

  async #noteRunning(
    instance: Instance,
    state: Extract<WorkloadState, { state: 'running' }>,
    mounts: readonly InstanceMount[],
  ): Promise<void> {
    await this.#notes.running(instance, state, mounts, await this.#inputs.follow(instance));
  }

  /** Stop, unmount, detach, forget; the finalizer goes last. */
  async #tearDown(instance: Instance): Promise<Result> {
    if (!(instance.metadata.finalizers ?? []).includes(agentFinalizer)) return done();
    const { uid } = instance.metadata;
    await this.#stopWorkload(instance, Number.MAX_SAFE_INTEGER);
    try {
      if (!(await this.#options.volumeManager.letGo(claimOf(instance)))) {
        const message = 'its volumes are being detached';
        await this.#notes.note(instance, 'Stopped', [told('Ready', false, 'Detaching', message)]);
        return done();
      }
    } catch (error) {
      const message = messageOf(error);
      await this.#notes.note(instance, 'Stopped', [told('Ready', false, 'DetachFailed', message)], {
        failureMessage: message,
      });
      return retry(error);
    }
    await this.#runtimeOf(instance)?.remove(uid);
    await this.#inputs.remove(instance);
    this.#crashes.delete(uid);
    this.#gate.clear(uid);
    await removeFinalizer(this.#options.store, instances, instance, agentFinalizer);
    return done();
  }

  /** A claim whose instance is gone holds nothing. */
  async #letGoOfOrphan({ key }: Request): Promise<Result> {
    const { volumeManager, logger } = this.#options;
    const claim = `${key.namespace ?? ''}/${key.name}`;
    if (!volumeManager.holdsHere(claim)) return done();
    logger.warn('volumes are held for an instance that is gone', { claim });
    try {
      await volumeManager.letGo(claim);
      return done();
    } catch (error) {
      return retry(error);
    }
  }
}
