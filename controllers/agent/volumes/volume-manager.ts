import { type Clock, type Logger, type Manager, type ObjectStore } from 'kedge';
import {
  DriverError,
  type DriverRegistry,
  KeyedQueue,
  type NodeHost,
  type NodeJournal,
  thisNode,
} from '@kedge/driver-sdk';
import type { Instance } from '../../instance/kind.js';
import type { VolumeMount } from '../../service/kind.js';
import { type Volume, volumes } from '../../volume/kind.js';
import type { ControllerPolicy } from '../../policy/policy.js';
import type { ParameterResolver } from '../../secret/index.js';
import { volumeOfMount } from '../../references/claim.js';
import { fileSystemPending, keyOfVolume } from '../../volume/index.js';
import { AttachmentRecords } from './attachment-records.js';
import { CallTimes } from './call-times.js';
import { HeldVolumes } from './held-volumes.js';
import type { ChangeOwner } from './mount-owner.js';
import { labelOf, obstacleOf } from './mount-obstacle.js';
import { attaching, type MountOutcome, volumeAbsent, waiting } from './mount-outcome.js';
import { NodeCalls } from './node-calls.js';
import { LeftoverMounts } from './leftover-mounts.js';
import { type MountUser, NodeVolumes } from './node-volumes.js';
import { UsedParameters } from './used-parameters.js';
import { StagingFailures } from './staging-failures.js';
import { VolumeRelease } from './volume-release.js';
import { tearDownVolumes } from './volume-teardown.js';

/** Dependencies of the volume manager. */
export interface VolumeManagerOptions {
  readonly store: ObjectStore;
  readonly manager: Manager;
  readonly drivers: DriverRegistry;
  readonly resolver: ParameterResolver;
  readonly node: string;
  /** The parent of `<volume uid>` for staging, and of `binds/<volume uid>/<claim>/<mount>` for publishing. */
  readonly mountRoot: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly policy: ControllerPolicy;
  /** Default: kept in memory only. */
  readonly used?: UsedParameters;
  /** Default: the node that this process runs on. */
  readonly host?: NodeHost;
  /** Journal of kernel resources of drivers. Default: in memory only. */
  readonly journal?: NodeJournal;
  /** Whether this process may mount; default: as root. */
  readonly mayMount?: boolean;
  /** Sets the owner of a directory that this process may not change. Default: such a mount fails. */
  readonly changeOwner?: ChangeOwner | undefined;
}

/** `<namespace>/<instance>`: the claim in attachments and in boundClaim. */
export function claimOf(instance: Instance): string {
  return `${instance.namespace}/${instance.name}`;
}

/**
 * Stages and publishes volumes for instances, and undoes both. A reservation is a conditional write on the volume
 * before any driver call, so that only one of two claims gets a ReadWriteOnce volume. Work on one storage is
 * serialized; different storages are handled in parallel.
 */
export class VolumeManager {
  readonly #options: VolumeManagerOptions;
  readonly #node: NodeVolumes;
  readonly #records: AttachmentRecords;
  readonly #work = new KeyedQueue();
  /** Staging in progress, by volume, claim and mount. */
  readonly #staging = new Map<string, { claim: string; outcome: Promise<MountOutcome> }>();
  /** Releases in progress, by claim. */
  readonly #leaving = new Map<string, Promise<boolean>>();
  readonly #failures = new StagingFailures();
  readonly #used: UsedParameters;
  readonly #calls: NodeCalls;
  readonly #leftovers: LeftoverMounts;
  readonly #held: HeldVolumes;
  readonly #release: VolumeRelease;
  readonly #times: CallTimes;
  #listener: (claim: string) => void = () => undefined;

  constructor(options: VolumeManagerOptions) {
    this.#options = options;
    this.#used = options.used ?? new UsedParameters();
    this.#times = new CallTimes(options, (claim) => this.#listener(claim));
    this.#calls = new NodeCalls({ ...options, used: this.#used });
    this.#records = new AttachmentRecords(options);
    const { mountRoot, clock, changeOwner, host = thisNode } = options;
    const mayMount = options.mayMount ?? process.getuid?.() === 0;
    this.#node = new NodeVolumes({ mountRoot, host, mayMount, changeOwner, clock });
    this.#leftovers = new LeftoverMounts({ ...options, node: this.#node });
    this.#held = new HeldVolumes({ ...options, own: this.#records.own });
    this.#release = new VolumeRelease({
      store: options.store,
      nodeName: options.node,
      node: this.#node,
      records: this.#records,
      held: this.#held,
      calls: this.#calls,
      times: this.#times,
      used: this.#used,
      work: this.#work,
    });
  }

  /** Sets the listener, which is called with a claim when its background work has ended. */
  onChange(listener: (claim: string) => void): void {
    this.#listener = listener;
  }

  /** Makes one entry of volumes[] usable. Idempotent; returns soon, even if the work continues. */
  async ensure(instance: Instance, mount: VolumeMount): Promise<MountOutcome> {
    const { namespace, service, ordinal } = instance;
    const key = volumeOfMount(mount, namespace, service, ordinal);
    if (!key)
      return waiting(
        'InvalidClaim',
        `claim ${mount.claim?.name ?? ''} is malformed; use VOLUME or VOLUME.NAMESPACE.svc`,
      );
    const volume = await this.#options.store.get(volumes, key);
    if (!volume) return volumeAbsent(key, 'yet');
    const claim = claimOf(instance);
    const { node } = this.#options;
    const obstacle = obstacleOf(volume, { claim, node }, this.#held.twinsOf(volume));
    if (obstacle) return waiting(obstacle.reason, obstacle.message);
    const id = `${volume.metadata.uid} ${claim} ${mount.name}`;
    const missed = this.#failures.unreported(id);
    if (missed) return missed;
    let staging = this.#staging.get(id);
    if (!staging) {
      const attempt = this.#stage(volume, mount, { claim, runtime: instance.template.runtime });
      const staged = this.#failures.recorded(id, claim, attempt);
      staging = { claim, outcome: staged.finally(() => this.#staging.delete(id)) };
      this.#staging.set(id, staging);
    }
    const outcome = await this.#times.withSoftTimeout(staging.outcome, claim);
    if (outcome) return this.#failures.reported(id, outcome);
    return this.#failures.meanwhile(id, attaching(labelOf(volume), volume));
  }

  #stage(given: Volume, mount: VolumeMount, user: MountUser): Promise<MountOutcome> {
    const { node, store } = this.#options;
    const { claim } = user;
    return this.#work.run(this.#held.storageOf(given), async () => {
      const volume = await store.get(volumes, keyOfVolume(given));
      if (!volume) return volumeAbsent(given, 'any more');
      const twins = this.#held.twinsOf(volume);
      const obstacle = obstacleOf(volume, { claim, node }, twins);
      if (obstacle) return waiting(obstacle.reason, obstacle.message);
      try {
        const prepared = await this.#times.limited(async (signal) => {
          const { driver, call, redaction } = await this.#calls.toAttach(volume, signal);
          const overtaken = await this.#records.reserve(volume, claim, twins);
          if (overtaken) return overtaken;
          const staged = await redaction.guard(() =>
            this.#node.prepare(volume, mount, user, driver, call),
          );
          return { ...staged, shownSource: redaction.text(staged.shown ?? staged.source) };
        });
        if ('reason' in prepared) return waiting(prepared.reason, prepared.message);
        await this.#records.bound(volume, claim, prepared);
        const readOnly = mount.readOnly === true || volume.accessMode === 'ReadOnlyMany';
        const { name, mountPath } = mount;
        const shown = `${volume.namespace}/${volume.name}`;
        return {
          type: 'mounted',
          mount: { name, volume: shown, mountPath, readOnly, source: prepared.shownSource },
          source: prepared.source,
          ...(prepared.subPath !== undefined && { subPath: prepared.subPath }),
        };
      } catch (thrown) {
        if (!(thrown instanceof DriverError)) throw thrown;
        await this.#records.failed(volume, 'attach', thrown);
        return waiting(thrown.kind, `${labelOf(given)}: ${thrown.message}`, true);
      }
    });
  }

  /** Grows a claim's pending file systems that can grow online. Growth after the soft timeout notifies the claim. */
  async growPending(claim: string): Promise<void> {
    const growing = this.#held
      .held(claim)
      .filter(fileSystemPending)
      .map((volume) =>
        this.#work.run(this.#held.storageOf(volume), () => this.#grow(volume, claim)),
      );
    await this.#times.withSoftTimeout(Promise.all(growing), claim);
  }

  async #grow(volume: Volume, claim: string): Promise<void> {
    const mine = volume.attachments?.find((a) => a.claim === claim && a.state === 'Attached');
    if (!mine) return;
    const pending = await this.#times.limited(async (signal) => {
      const { driver, call, redaction } = await this.#calls.whileHeld(volume, signal);
      const devicePath = mine.devicePath ?? '';
      return redaction.guard(() => this.#node.grow(volume, devicePath, driver, call));
    });
    if (!pending) await this.#records.grown(volume);
  }

  /** See {@link HeldVolumes.onStorageOf}. */
  onStorageOf(volume: Volume): readonly Volume[] {
    return this.#held.onStorageOf(volume);
  }

  /** Volumes that a claim holds. */
  held(claim: string): readonly Volume[] {
    return this.#held.held(claim);
  }

  /** Volumes with an attachment on this node, in any state, or with a reservation of this process. */
  heldHere(): readonly Volume[] {
    return this.#held.heldHere();
  }

  /** Whether a claim holds a volume on any node, or has mounts here of a force-detached one. */
  holds(claim: string): boolean {
    return this.#leftovers.has(claim) || this.#held.held(claim).length > 0;
  }

  /** Whether a claim holds a volume on this node, or has mounts here of a force-detached one. */
  holdsHere(claim: string): boolean {
    return (
      this.#leftovers.has(claim) || this.#held.held(claim).some((v) => this.#held.isHere(v, claim))
    );
  }

  /** After a restart: keeps mounts of attached volumes and of running workloads, removes the others. */
  async adopt(
    isRunning: (claim: string) => Promise<boolean> = () => Promise.resolve(false),
  ): Promise<void> {
    const isAttached = this.#held.attachedHere();
    const kept = await this.#times.limited((signal) =>
      this.#leftovers.sort(isAttached, isRunning, signal),
    );
    if (kept.length > 0) this.#options.logger.info('volumes adopted', { count: kept.length });
  }

  /** Releases a volume from a claim. Returns the result of {@link VolumeRelease.run}. */
  release(volume: Volume, claim: string): Promise<boolean> {
    return this.#release.run(volume, claim);
  }

  /** Like {@link releaseAll}, or false after the soft timeout: the release continues and notifies the claim. */
  async releaseWithSoftTimeout(claim: string): Promise<boolean> {
    let leaving = this.#leaving.get(claim);
    if (!leaving) {
      const all = this.releaseAll(claim).then(() => true);
      leaving = all.finally(() => this.#leaving.delete(claim));
      this.#leaving.set(claim, leaving);
    }
    return (await this.#times.withSoftTimeout(leaving, claim)) ?? false;
  }

  /**
   * Releases all volumes of a claim in parallel. Volumes that are being staged are released after their staging: before
   * the reservation, nothing shows that the claim will hold them. Throws the first failure after all attempts.
   */
  async releaseAll(claim: string): Promise<void> {
    this.#failures.forget(claim);
    const arrivals = [...this.#staging.values()].filter((staging) => staging.claim === claim);
    const [released] = await Promise.allSettled([
      this.#releaseHeld(claim),
      ...arrivals.map(({ outcome }) => outcome),
    ]);
    if (released.status === 'rejected') throw released.reason;
    if (arrivals.length > 0) await this.#releaseHeld(claim);
    if (!this.#leftovers.has(claim)) return;
    const isAttached = this.#held.attachedHere();
    await this.#times.limited((signal) => this.#leftovers.remove(claim, isAttached, signal));
  }

  async #releaseHeld(claim: string): Promise<void> {
    const results = await Promise.allSettled(
      this.#held.held(claim).map((volume) => this.#release.run(volume, claim)),
    );
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  /** Removes mounts of force-detached volumes and releases all others within the budget, except those of `busy`. */
  async tearDown(budgetMs: number, busy: ReadonlySet<string>): Promise<void> {
    const leftovers = this.#leftovers.removeUnused(busy, this.#held.attachedHere(), budgetMs);
    const steps = this.#held.heldHere().map((volume) => ({
      volume,
      release: async (signal: AbortSignal) => {
        if (this.#leftovers.keeps(volume.metadata.uid)) await leftovers;
        const mine = this.#held.claimsHere(volume);
        const user = [...mine].find((claim) => busy.has(claim));
        if (user) throw new Error(`${user} could not be stopped and still uses the volume`);
        let held = false;
        for (const claim of mine)
          if (!signal.aborted && (await this.#release.run(volume, claim))) held = true;
        return held;
      },
    }));
    await Promise.all([leftovers, tearDownVolumes(steps, budgetMs, this.#options)]);
  }
}
