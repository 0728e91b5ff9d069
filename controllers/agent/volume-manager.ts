import { join } from 'node:path';
import {
  type Clock,
  type Logger,
  type Manager,
  messageOf,
  modifyStatus,
  type ObjectStore,
  setCondition,
  timestamp,
} from 'kedge';
import {
  type CallContext,
  type Driver,
  DriverError,
  type DriverRegistry,
  type Parameters,
} from '@kedge/driver-sdk';
import {
  type Attachment,
  type Instance,
  type InstanceMount,
  storageClasses,
  type Volume,
  type VolumeMount,
  volumes,
} from '../kinds/index.js';
import type { ParameterResolver } from '../secret/index.js';
import { type NamespacedKey, volumeOfMount } from '../service/index.js';
import { driverCall, identityOf, nextPhase } from '../volume/index.js';
import { resolveSubPath } from './sub-path.js';

/** Ports of the volume manager. */
export interface VolumeManagerOptions {
  readonly store: ObjectStore;
  readonly manager: Manager;
  readonly drivers: DriverRegistry;
  readonly resolver: ParameterResolver;
  readonly node: string;
  /** Where volumes are mounted, one folder a volume uid. */
  readonly mountRoot: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Whether a volume can be used by an instance now. */
export type MountOutcome =
  | { readonly type: 'mounted'; readonly mount: InstanceMount }
  | {
      readonly type: 'waiting';
      readonly reason: string;
      readonly message: string;
      /** A driver call failed: try again with backoff. Else a change of the volume wakes us. */
      readonly retry: boolean;
    };

function waiting(reason: string, message: string, retry = false): MountOutcome {
  return { type: 'waiting', reason, message, retry };
}

/** `<namespace>/<instance>`: what attachments and boundClaim name. */
export function claimOf(instance: Instance): string {
  return `${instance.namespace}/${instance.name}`;
}

/**
 * Brings volumes to instances and takes them back: reserve, attach, mount, and the reverse.
 * A reservation is a compare-and-write on the volume before any driver call, so of two claims on a
 * ReadWriteOnce volume one waits.
 */
export class VolumeManager {
  readonly #options: VolumeManagerOptions;
  /** Parameters as they were at mount, for a teardown that can't resolve them any more. */
  readonly #usedParameters = new Map<string, Parameters>();

  constructor(options: VolumeManagerOptions) {
    this.#options = options;
    options.manager
      .informer(volumes)
      .addIndex('claim', (volume) => (volume.attachments ?? []).map((a) => a.claim));
  }

  /** Makes one entry of volumes[] usable. Idempotent. */
  async ensure(instance: Instance, mount: VolumeMount, signal: AbortSignal): Promise<MountOutcome> {
    const { namespace, service, ordinal } = instance;
    const key = volumeOfMount(mount, namespace, service, ordinal);
    if (!key) return waiting('InvalidClaim', `claim ${mount.claim?.name ?? ''} can't be read`);
    const volume = await this.#options.store.get(volumes, key);
    const label = `volume ${key.namespace}/${key.name}`;
    if (!volume) return waiting('VolumeNotReady', `${label} does not exist yet`);
    if (volume.metadata.deletionRequestedAt !== undefined)
      return waiting('VolumeNotReady', `${label} is being deleted`);
    if (volume.status !== 'Available' && volume.status !== 'Bound') {
      const why = volume.failureMessage ? `: ${volume.failureMessage}` : '';
      return waiting('VolumeNotReady', `${label} is ${volume.status ?? 'Pending'}${why}`);
    }
    const claim = claimOf(instance);
    const other = (volume.attachments ?? []).find((a) => a.claim !== claim);
    if (other && volume.accessMode === 'ReadWriteOnce')
      return waiting('VolumeInUse', `${label} is ReadWriteOnce and in use by ${other.claim}`);
    try {
      await this.#reserve(volume, claim);
      const path = await this.#attachAndMount(volume, mount, claim, signal);
      const source = mount.subPath ? await inside(path, mount.subPath) : path;
      return {
        type: 'mounted',
        mount: {
          name: mount.name,
          volume: `${key.namespace}/${key.name}`,
          mountPath: mount.mountPath,
          readOnly: mount.readOnly === true || volume.accessMode === 'ReadOnlyMany',
          source,
        },
      };
    } catch (thrown) {
      if (!(thrown instanceof DriverError)) throw thrown;
      return waiting(thrown.kind, `${label}: ${thrown.message}`, true);
    }
  }

  async #reserve(volume: Volume, claim: string): Promise<void> {
    if ((volume.attachments ?? []).some((a) => a.claim === claim)) return;
    const mine: Attachment = { claim, node: this.#options.node, state: 'Reserved' };
    const { uid, resourceVersion } = volume.metadata;
    const key = { namespace: volume.namespace, name: volume.name };
    const attachments = [...(volume.attachments ?? []), mine];
    await this.#options.store.updateStatus(volumes, key, { attachments }, { uid, resourceVersion });
  }

  async #context(
    volume: Volume,
    signal: AbortSignal,
  ): Promise<{ driver: Driver; call: CallContext }> {
    const { drivers, manager, resolver, node } = this.#options;
    const live = manager.informer(storageClasses).lister.get(volume.storageClassName);
    const { driver, parameters: wanted } = await driverCall(drivers, volume, live);
    const { uid } = volume.metadata;
    let parameters: Parameters;
    try {
      parameters = resolver.resolve(wanted, volume.namespace);
      this.#usedParameters.set(uid, parameters);
    } catch (error) {
      // Specification 5.3.2: rather the value used at mount time than none.
      const used = this.#usedParameters.get(uid);
      if (!used) throw error;
      parameters = used;
    }
    return { driver, call: { volume: identityOf(volume), parameters, node, signal } };
  }

  #target(volume: Volume): string {
    return join(this.#options.mountRoot, volume.metadata.uid);
  }

  async #attachAndMount(
    volume: Volume,
    mount: VolumeMount,
    claim: string,
    signal: AbortSignal,
  ): Promise<string> {
    const { driver, call } = await this.#context(volume, signal);
    const handle = volume.handle ?? '';
    const { devicePath } = await driver.attach({ ...call, handle });
    const target = this.#target(volume);
    const readOnly = mount.readOnly === true;
    const mayFormat = volume.formatted !== true;
    const { path } = await driver.mount({
      ...call,
      handle,
      devicePath,
      target,
      readOnly,
      mayFormat,
    });
    await this.#bind(volume, claim, devicePath);
    return path;
  }

  /** V11, V14: attached and mounted is Bound. */
  async #bind(volume: Volume, claim: string, devicePath: string): Promise<void> {
    const { store, clock, node } = this.#options;
    const now = timestamp(clock);
    await modifyStatus(store, volumes, keyOf(volume), (current) => {
      const mine = (current.attachments ?? []).find((a) => a.claim === claim);
      if (mine?.state === 'Attached' && current.status === 'Bound') return undefined;
      const attached: Attachment = { claim, node, state: 'Attached', devicePath, attachedAt: now };
      const others = (current.attachments ?? []).filter((a) => a.claim !== claim);
      return {
        status: nextPhase(current.status ?? 'Available', 'bound'),
        boundClaim: current.boundClaim || claim,
        boundNode: node,
        reason: 'Bound',
        attachments: [...others, attached],
        conditions: setCondition(
          current.conditions,
          { type: 'Bound', status: 'True', reason: 'Bound', message: `bound to ${claim}` },
          now,
        ),
      };
    });
  }

  /** Volumes that a claim holds. */
  held(claim: string): readonly Volume[] {
    return this.#options.manager.informer(volumes).lister.byIndex('claim', claim);
  }

  /** Volumes this node has attached. */
  heldHere(): readonly Volume[] {
    const { manager, node } = this.#options;
    return manager
      .informer(volumes)
      .lister.list()
      .filter((v) => (v.attachments ?? []).some((a) => a.node === node));
  }

  /** Takes a volume from a claim: unmount, detach, release. @throws DriverError; then it stays attached. */
  async release(volume: Volume, claim: string, signal: AbortSignal): Promise<void> {
    const others = (volume.attachments ?? []).filter((a) => a.claim !== claim);
    const here = others.some((a) => a.node === this.#options.node);
    if (!here) {
      const { driver, call } = await this.#context(volume, signal);
      const handle = volume.handle ?? '';
      await driver.unmount({ ...call, handle, target: this.#target(volume) });
      await driver.detach({ ...call, handle });
    }
    const now = timestamp(this.#options.clock);
    await modifyStatus(this.#options.store, volumes, keyOf(volume), (current) => {
      const left = (current.attachments ?? []).filter((a) => a.claim !== claim);
      const first = left[0];
      if (first) return { attachments: left, boundClaim: first.claim, boundNode: first.node };
      const bound = current.status === 'Bound';
      return {
        attachments: [],
        boundClaim: '',
        boundNode: '',
        ...(bound ? { status: nextPhase('Bound', 'unbound'), reason: 'Unbound' } : {}),
        conditions: setCondition(
          current.conditions,
          { type: 'Bound', status: 'False', reason: 'Unbound', message: `released by ${claim}` },
          now,
        ),
      };
    });
    if (!here) this.#usedParameters.delete(volume.metadata.uid);
  }

  /** All volumes of a claim. The first failure is thrown after every one was tried. */
  async releaseAll(claim: string, signal: AbortSignal): Promise<void> {
    const results = await Promise.allSettled(
      this.held(claim).map((volume) => this.release(volume, claim, signal)),
    );
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  /**
   * Releases everything of this node in parallel, each volume with the whole budget (specification
   * section 8), and logs the summary of section 6. A failure leaves the volume attached, and so does
   * a claim in `busy`: nothing is detached under a workload that runs.
   */
  async tearDown(budgetMs: number, busy: ReadonlySet<string>): Promise<void> {
    const { logger, clock } = this.#options;
    const held = this.heldHere();
    const total = held.length;
    if (budgetMs <= 0) {
      if (total > 0)
        logger.warn('Shutdown budget spent before volume teardown; volumes stay attached', {
          total,
        });
      return;
    }
    const limit = new AbortController();
    const timer = clock.setTimer(() => limit.abort(), budgetMs);
    const expired = new Promise<never>((_resolve, reject) => {
      limit.signal.addEventListener('abort', () =>
        reject(new Error('the shutdown budget is spent')),
      );
    });
    const one = async (volume: Volume): Promise<void> => {
      const mine = (volume.attachments ?? []).filter((a) => a.node === this.#options.node);
      const user = mine.find((attachment) => busy.has(attachment.claim));
      if (user) throw new Error(`${user.claim} could not be stopped and still uses it`);
      const work = (async () => {
        for (const attachment of mine) {
          const current = (await this.#options.store.get(volumes, keyOf(volume))) ?? volume;
          await this.release(current, attachment.claim, limit.signal);
        }
      })();
      await Promise.race([work, expired]);
    };
    const results = await Promise.allSettled(held.map(one));
    timer.cancel();
    for (const [index, result] of results.entries()) {
      const volume = held[index];
      if (result.status === 'rejected' && volume)
        logger.warn('volume stays attached', {
          volume: `${volume.namespace}/${volume.name}`,
          error: messageOf(result.reason),
        });
    }
    const released = results.filter((r) => r.status === 'fulfilled').length;
    if (released === total) logger.info('All volumes torn down', { detached: released, total });
    else logger.warn('Volume teardown incomplete', { released, total });
  }
}

/** A subPath inside a mounted volume. @throws DriverError, so that the instance says what is wrong. */
async function inside(root: string, subPath: string): Promise<string> {
  try {
    return await resolveSubPath(root, subPath);
  } catch (cause) {
    throw new DriverError('InvalidParameters', messageOf(cause), { cause });
  }
}

function keyOf(volume: Volume): NamespacedKey {
  return { namespace: volume.namespace, name: volume.name };
}
