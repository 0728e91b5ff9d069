import {
  done,
  findCondition,
  isDeleting,
  type ReconcileContext,
  requeueAfter,
  type Result,
} from 'kedge';
import { services } from '../../service/kind.js';
import { type Volume, volumes } from '../kind.js';
import { secretVersions } from '../../provisioned/inputs.js';
import { Probes } from '../../provisioned/probes.js';
import type { GoneNodes } from '../../node/gone-nodes.js';
import { rootCondition } from '../../storage-root/index.js';
import { isDeletionAsked, isDeletionUnderWay } from '../states/deletion-report.js';
import { type Reason, setCondition } from '../../reasons/index.js';
import { EarlierAttempt } from './earlier-attempt.js';
import { VolumeEffects, type VolumeControllerOptions } from './effects.js';
import { callsDriver, Handover } from './handover.js';
import { missedBy } from './missing-at-provider.js';
import { holdingNodes, isOnNodes, namesNoNode, withoutReserved } from './nodes-of-volume.js';
import type { NextVolumePhase } from '../states/phases.js';
import { planVolume, type VolumeAction, type VolumeSituation } from '../states/plan.js';
import { Provisioning } from './provisioning.js';
import { Reclaim } from './reclaim.js';
import { StalledOutcome } from './stalled.js';
import type { Waits } from '../../provisioned/conditions.js';
import { within } from '../../provisioned/retries.js';
import { Upkeep } from './upkeep.js';
import { isProvisioningStep, stepsMax, stepsWithinMs } from './steps.js';
import { Verification } from './verification.js';

/** Effects of the volume state machine; decisions are in plan.ts. */
export class VolumeReconciler {
  readonly #options: VolumeControllerOptions;
  readonly #effects: VolumeEffects;
  readonly #provisioning: Provisioning;
  readonly #stalled: StalledOutcome;
  readonly #upkeep: Upkeep;
  readonly #verification: Verification;
  readonly #reclaim: Reclaim;
  readonly #handover: Handover;
  readonly #gone: GoneNodes;
  readonly #probes: Probes;
  /** Start times of calls of nodes that found a volume missing, by uid: each such call triggers one probe. */
  readonly #missed = new Map<string, string>();

  /** The inputs of the last failed probe, by uid: other ones, such as a new token, make another probe due. */
  readonly #unverified = new Map<string, string>();
  /** Whether the data of a driver's volumes is on one node, by the name of the driver. */
  readonly #onNodes = new Map<string, boolean>();
  /** Volumes that this process has reconciled, by uid. */
  readonly #seen = new Set<string>();
  /** Those of them that an earlier process left attached, until their first probe is scheduled. */
  readonly #left = new Set<string>();
  /** Volumes that were imported a short time ago, until their first probe is scheduled. */
  readonly #imported = new Set<string>();

  constructor(options: VolumeControllerOptions, gone: GoneNodes) {
    this.#options = options;
    this.#gone = gone;
    this.#effects = new VolumeEffects(options);
    this.#probes = new Probes(options);
    const earlier = new EarlierAttempt(this.#effects);
    this.#provisioning = new Provisioning(this.#effects, earlier);
    this.#stalled = new StalledOutcome(this.#effects, earlier);
    this.#upkeep = new Upkeep(this.#effects);
    this.#verification = new Verification(this.#effects);
    this.#reclaim = new Reclaim(this.#effects, earlier);
    this.#handover = new Handover(this.#effects);
  }

  async reconcile(request: ReconcileContext): Promise<Result> {
    const { store, drivers, clock } = this.#options;
    const startedAt = clock.monotonic();
    for (let steps = 1; ; ) {
      const volume = await store.get(volumes, request.key);
      if (!volume) return done();
      const { driver = '' } = volume;
      if (namesNoNode(volume) && !this.#onNodes.has(driver)) {
        this.#onNodes.set(driver, await isOnNodes(drivers, driver));
        // The decision needs the state of the volume after the wait.
        continue;
      }
      const result = await this.#step(volume, request);
      // A new run after a failure has no failures, and thus the shortest backoff. A node's reads may lag.
      const isPlain = request.failures === 0 && this.#effects.part === 'cluster';
      if (!isPlain || steps === stepsMax || !isProvisioningStep(volume, result)) return result;
      if (clock.monotonic() - startedAt >= stepsWithinMs) return result;
      steps += 1;
    }
  }

  async #step(volume: Volume, request: ReconcileContext): Promise<Result> {
    if (this.#effects.part === 'node') return this.#serve(this.#effects.recalled(volume), request);
    const { gone, leftMs } = this.#gone.among(holdingNodes(volume, this.#options.node));
    if (gone.length > 0) return this.#upkeep.detachFromDeleted(volume, gone, request);
    const result = await this.#act(volume, request);
    return leftMs === undefined ? result : within(result, leftMs);
  }

  /** The part of a node: executes the requested calls for volumes whose data is here. */
  async #serve(volume: Volume, request: ReconcileContext): Promise<Result> {
    if (this.#effects.callingProcess(volume).type !== 'here') return done();
    const action = planVolume(this.#situation(volume));
    if (action.type === 'none') return this.#untilProbe(volume);
    const isAsked = action.type !== 'reclaim' || isDeletionAsked(volume);
    return callsDriver(action, volume) && isAsked ? this.#act(volume, request) : done();
  }

  async #act(volume: Volume, request: ReconcileContext): Promise<Result> {
    const situation = this.#situation(volume);
    const action = planVolume(situation);
    const { uid } = volume.metadata;
    if (!this.#seen.has(uid) && volume.status === 'Bound') this.#left.add(uid);
    if (!this.#seen.has(uid) && this.#isNewImport(volume)) this.#imported.add(uid);
    this.#seen.add(uid);
    const isSettled = volume.status === 'Available' || volume.status === 'Failed';
    if (isSettled && this.#effects.part === 'cluster')
      await this.#reclaim.releaseSource(volume, request);
    if (callsDriver(action, volume)) {
      const placed = action.type === 'detach' ? withoutReserved(volume) : volume;
      const caller = this.#effects.callingProcess(placed);
      if (caller.type === 'waits') return this.#handOver(situation, action, caller, request);
    }
    switch (action.type) {
      case 'none':
        return this.#untilProbe(volume);
      case 'waitForUsers':
        return this.#reclaim.waitForUsers(volume, request);
      case 'recheckLater':
        return this.#provisioning.recheck(volume, request);
      case 'startProvisioning':
        return this.#provisioning.start(situation, action, request);
      case 'provision':
        return this.#provisioning.provision(situation, request);
      case 'observe':
        return this.#stalled.observe(situation, request);
      case 'expand':
        return this.#upkeep.expand(situation, action.sizeBytes, request);
      case 'probe':
        return this.#probe(situation, request);
      case 'detach':
        return this.#upkeep.detach(situation, request);
      case 'release':
        return this.#move(request, volume, action.status, 'OwnerGone', 'its service was deleted');
      case 'takeBack':
        return this.#move(request, volume, action.status, 'OwnerBack', 'its service exists again');
      case 'unbind':
        return this.#upkeep.unbind(volume, request);
      case 'abandon':
        return this.#reclaim.requestDeletion(volume);
      case 'reclaim':
        return this.#reclaim.reclaim(situation, action.from, request);
      case 'forget':
        this.#probes.forget(uid);
        this.#missed.delete(uid);
        this.#unverified.delete(uid);
        this.#seen.delete(uid);
        this.#left.delete(uid);
        this.#imported.delete(uid);
        return this.#reclaim.forget(situation, action.from, request);
    }
  }

  #isNewImport({ importedAs = '', metadata }: Volume): boolean {
    const { clock, policy } = this.#options;
    const age = clock.now() - Date.parse(metadata.createdAt);
    return importedAs !== '' && age < policy.existenceProbeMs;
  }

  #situation(volume: Volume): VolumeSituation {
    const { manager } = this.#options;
    const { uid } = volume.metadata;
    const storageClass = this.#effects.classes().get(volume.storageClassName);
    const missed = missedBy(volume);
    const isMissed = missed !== undefined && this.#missed.get(uid) !== missed;
    const isProbeDue = isMissed || this.#probes.isDue(uid);
    if (this.#effects.part === 'node') {
      // The cluster part handles owners and failure inputs.
      const probeDue = isProbeDue || Boolean(volume.missingSince);
      return { volume, storageClass, owner: 'wanted', inputs: '', probeDue };
    }
    const service = volume.ownerService
      ? manager.informer(services).lister.get(volume.ownerService)
      : undefined;
    const present = service && (isDeleting(service) ? 'leaving' : 'wanted');
    const parameters = {
      ...this.#options.drivers.credentialsOf?.(storageClass?.driver ?? ''),
      ...storageClass?.parameters,
      ...volume.parameters,
    };
    const versions = secretVersions(manager, parameters, volume);
    const inputs = [
      `volume@${volume.metadata.generation}`,
      `class@${storageClass?.metadata.resourceVersion ?? 'missing'}`,
      ...versions,
      // Earlier backoff does not delay a deletion.
      ...(isDeleting(volume) ? ['deleting'] : []),
      // A call that failed because of a refused storage root is retried when the root changes.
      `root@${findCondition(volume.conditions, rootCondition)?.status ?? 'True'}`,
    ].join(' ');
    // The first probe of a process also determines the node of volumes of earlier releases.
    const isOfNode = this.#onNodes.get(volume.driver ?? '') === true;
    const unplaced = !this.#probes.has(uid) && isOfNode && namesNoNode(volume);
    const isRetried = (this.#unverified.get(uid) ?? inputs) !== inputs;
    const probeDue = unplaced || isRetried || Boolean(volume.missingSince) || isProbeDue;
    return { volume, storageClass, owner: present ?? 'gone', inputs, probeDue };
  }

  /**
   * Leaves the action to the process that must call the driver. If that process belongs to a node that was deleted, the
   * action ends without it.
   */
  async #handOver(
    situation: VolumeSituation,
    action: VolumeAction,
    caller: Waits,
    request: ReconcileContext,
  ): Promise<Result> {
    const { volume } = situation;
    const { type } = action;
    const released = await this.#reclaim.releaseRefused(situation, action, caller, request);
    if (released) return released;
    const isUnmade = !volume.handle && ['provision', 'observe', 'reclaim'].includes(type);
    const isAsked = type === 'reclaim' && isDeletionUnderWay(volume);
    if ((!isUnmade && !isAsked) || caller.home === undefined)
      return this.#handover.wait(situation, action, caller, request);
    // Remains of an attempt are lost if its node is removed from the cluster.
    const { gone, leftMs } = this.#gone.among([caller.home]);
    if (gone.length > 0) {
      if (!isUnmade) return this.#handover.withdrawDeletion(volume, caller.home, request);
      return type === 'reclaim'
        ? this.#reclaim.release(volume, request)
        : this.#upkeep.leaveDeletedNode(caller.home, volume, request);
    }
    const report = await this.#handover.wait(situation, action, caller, request);
    return leftMs === undefined ? report : within(report, leftMs);
  }

  /**
   * The result of a reconcile without an action: requeues at the next existence probe, if this process probes the
   * volume.
   */
  async #untilProbe(volume: Volume): Promise<Result> {
    if (volume.status !== 'Available' && volume.status !== 'Bound') return done();
    if (this.#effects.callingProcess(volume).type !== 'here') return done();
    const { uid } = volume.metadata;
    // It may have been deleted at the provider after the import observed it.
    if (this.#imported.delete(uid)) return this.#probes.untilFirst(uid);
    const isLeft = this.#left.delete(uid);
    if (isLeft && (await this.#verification.isNeeded(volume))) return this.#probes.untilFirst(uid);
    return this.#probes.untilNext(uid);
  }

  async #probe(situation: VolumeSituation, request: ReconcileContext): Promise<Result> {
    const { volume } = situation;
    const { uid } = volume.metadata;
    this.#probes.forget(uid);
    const missed = missedBy(volume);
    if (missed !== undefined) this.#missed.set(uid, missed);
    const result = await this.#upkeep.probe(situation, request);
    if (result.type === 'pending') {
      this.#unverified.set(uid, situation.inputs);
      return this.#probes.in(uid, result.pollAfterMs);
    }
    this.#unverified.delete(uid);
    if (result.type !== 'done') return result;
    // A lost volume may return, for example when its disk is mounted again.
    return volume.status === 'Failed'
      ? requeueAfter(this.#options.policy.lostProbeMs)
      : this.#untilProbe(volume);
  }

  async #move(
    request: ReconcileContext,
    volume: Volume,
    status: NextVolumePhase,
    reason: Reason,
    message: string,
  ): Promise<Result> {
    const condition = { type: 'Bound', status: 'False' as const, reason, message };
    await this.#effects.write(request, volume, {
      status,
      reason,
      failureMessage: '',
      conditions: setCondition(volume.conditions, condition, this.#effects.now),
    });
    return requeueAfter(0);
  }
}
