import {
  done,
  findCondition,
  type ReconcileContext,
  pending,
  requeueAfter,
  type Result,
} from 'kedge';
import { type Driver, type DriverError, isPending, nodeTopologyKey } from '@kedge/driver-sdk';
import { nodes } from '../../node/kind.js';
import { type Attachment, type Volume, type VolumeStatus, volumes } from '../kind.js';
import { setCondition } from '../../reasons/index.js';
import { keyOfVolume, type VolumeEffects } from './effects.js';
import { isUnverified, Verification } from './verification.js';
import { nextPhase } from '../states/phases.js';
import { lostReason, type VolumeSituation } from '../states/plan.js';
import { driverErrorOf, requireSeen } from '../../provisioned/retries.js';
import { nodesDeleted, provisioningNodeDeleted } from '../../messages/nodes.js';

/**
 * Actions on a volume after its provisioning: expansion, existence probes, detach and unbinding; and those after the
 * deletion of a node.
 */
export class Upkeep {
  readonly #effects: VolumeEffects;
  readonly #verification: Verification;

  constructor(effects: VolumeEffects) {
    this.#effects = effects;
    this.#verification = new Verification(effects);
  }

  /** V30: grows the volume at its provider, and reports the new size. No-op if its driver can't expand volumes. */
  async expand(
    situation: VolumeSituation,
    sizeBytes: bigint,
    request: ReconcileContext,
  ): Promise<Result> {
    const { volume } = situation;
    const startedAt = this.#effects.now;
    try {
      const { driver, context } = await this.#effects.begin(request, situation);
      if (!driver.capabilities().expand) return done();
      const reached = await driver.expand({ ...context, handle: volume.handle ?? '', sizeBytes });
      if (isPending(reached))
        return await this.#effects.reportInProgress(request, volume, 'expand', reached);
      const pending = reached.fileSystemPending;
      const now = this.#effects.now;
      const resized = {
        type: 'Resizing',
        status: 'False' as const,
        reason: 'Resized' as const,
        message: `${reached.sizeBytes} bytes`,
      };
      const fileSystem = {
        type: 'FileSystemResizePending',
        status: pending ? ('True' as const) : ('False' as const),
        reason: pending ? ('WaitsForMount' as const) : ('Resized' as const),
        message: pending ? 'the file system is resized on its node, now or at the next mount' : '',
      };
      await this.#effects.write(request, volume, {
        sizeBytes: String(reached.sizeBytes),
        reason: 'Resized',
        ...this.#effects.succeeded('expand', startedAt),
        conditions: setCondition(setCondition(volume.conditions, resized, now), fileSystem, now),
      });
      return requeueAfter(0);
    } catch (thrown) {
      const error = driverErrorOf(thrown);
      if (error.kind === 'NotFound') {
        const probed = await this.probe(situation, request);
        if (probed.type !== 'done') return probed;
      }
      const has = BigInt(volume.sizeBytes ?? '0');
      const cancelHint =
        sizeBytes > has ? `; to cancel the resize, set its size to ${has} bytes` : '';
      const message = `resize to ${sizeBytes} bytes failed: ${error.message}${cancelHint}`;
      return this.#effects.retried(request, volume, { call: 'expand', startedAt }, error, () =>
        this.#effects.condition(volume, 'Resizing', 'True', error.kind, message),
      );
    }
  }

  /**
   * V27: probes the volume. After two probes that found it absent it is lost; one that reappears is Available or Bound
   * again. Any other failed probe changes nothing but the report of {@link Verification.failed}.
   */
  async probe(situation: VolumeSituation, request: ReconcileContext): Promise<Result> {
    const { volume } = situation;
    const { status } = volume;
    const startedAt = this.#effects.now;
    let adopted: VolumeStatus = {};
    try {
      const { driver, context } = await this.#effects.begin(request, situation);
      // The calls that users wait for come before a periodic probe.
      const isBackground = status !== 'Failed' && !volume.missingSince;
      await driver.observe({ ...context, handle: volume.handle || undefined, isBackground });
      adopted = adoption(volume, driver, context.node);
    } catch (thrown) {
      const error = driverErrorOf(thrown);
      if (status !== 'Available' && status !== 'Bound') return done();
      if (error.kind === 'Throttled') return pending(error.retryAfterMs ?? 60_000);
      // A failed probe proves nothing.
      if (error.kind !== 'NotFound')
        return this.#verification.failed(volume, error, startedAt, request);
      return this.#missing(volume, status, error, startedAt, request);
    }
    // A reservation is not bound yet, although its attach may have begun: its claim continues from Available.
    const held = volume.attachments?.some((attachment) => attachment.state !== 'Reserved') === true;
    if (status === 'Failed')
      await this.#effects.write(request, volume, {
        status: nextPhase('Failed', held ? 'foundAttached' : 'found'),
        reason: 'Found',
        failureMessage: '',
        missingSince: '',
        ...adopted,
        ...this.#effects.succeeded('observe', startedAt),
      });
    else if (volume.missingSince || adopted.topology || isUnverified(volume))
      await this.#effects.write(request, volume, {
        missingSince: '',
        ...adopted,
        ...this.#verification.succeeded(volume, startedAt),
      });
    return done();
  }

  async #missing(
    volume: Volume,
    from: 'Available' | 'Bound',
    error: DriverError,
    startedAt: string,
    request: ReconcileContext,
  ): Promise<Result> {
    const { clock, policy } = this.#effects.options;
    // A clock that was far ahead would delay the confirmation for as long.
    const isAhead = Date.parse(volume.missingSince ?? '') > clock.now();
    if (!volume.missingSince || isAhead) {
      const again = new Date(Date.parse(startedAt) + policy.lossConfirmMs).toISOString();
      await this.#effects.write(request, volume, {
        missingSince: startedAt,
        ...this.#verification.missing(volume, error.message, again),
      });
      return requeueAfter(policy.lossConfirmMs);
    }
    const sinceMs = Date.parse(volume.missingSince);
    const leftMs = sinceMs + policy.lossConfirmMs - clock.now();
    if (leftMs > 0) return requeueAfter(leftMs);
    const message = `${lostReason}: the provider no longer has the volume: ${error.message}; restore a snapshot, or delete the volume`;
    await this.#effects.write(request, volume, {
      status: nextPhase(from, 'lost'),
      reason: lostReason,
      failureMessage: message,
      ...this.#effects.failed('observe', startedAt, error),
      ...this.#effects.condition(
        this.#verification.settled(volume),
        'Provisioned',
        'False',
        lostReason,
        message,
      ),
    });
    return requeueAfter(0);
  }

  /**
   * V19: marks the attachments of nodes that were removed from the cluster as Detaching; {@link detach} ends them.
   * No-op for a node that exists again.
   */
  detachFromDeleted(
    volume: Volume,
    gone: readonly string[],
    request: ReconcileContext,
  ): Promise<Result> {
    return request.txn(async (txn) => {
      const current = await txn.get(volumes, keyOfVolume(volume));
      if (current?.metadata.uid !== volume.metadata.uid) return done();
      const missing = new Set<string>();
      for (const name of gone)
        if (!(await txn.get(nodes, { name }, { watching: 'generation' }))) missing.add(name);
      const attachments = (current.attachments ?? []).map((attachment) =>
        missing.has(attachment.node) ? { ...attachment, state: 'Detaching' as const } : attachment,
      );
      const message = `${nodesDeleted.format({ nodes: [...missing] })}; the volume is being detached from it`;
      if (missing.size > 0)
        txn.updateStatus(volumes, keyOfVolume(volume), {
          attachments,
          ...this.#effects.condition(current, 'Bound', 'False', 'NodeGone', message),
        });
      // Writes of this run's transaction do not queue its key.
      return requeueAfter(0);
    });
  }

  /**
   * V4, V21 for a volume that a removed node was to provision: it is provisioned elsewhere, or deleted. Remains of
   * an attempt are lost with the node.
   */
  leaveDeletedNode(home: string, volume: Volume, request: ReconcileContext): Promise<Result> {
    return request.txn(async (txn) => {
      const current = await txn.get(volumes, keyOfVolume(volume));
      requireSeen(volumes, volume, current);
      if (await txn.get(nodes, { name: home }, { watching: 'generation' })) return requeueAfter(0);
      const message = provisioningNodeDeleted.format({ node: home });
      txn.updateStatus(volumes, keyOfVolume(volume), {
        status:
          current.status === 'Stalled'
            ? nextPhase('Stalled', 'observedAbsent')
            : nextPhase('Provisioning', 'failedForGood'),
        attempts: 0,
        reason: 'NodeGone',
        failureMessage: message,
        // Its inputs are not the cause: try another node at once.
        failedWith: '',
        ...this.#effects.condition(current, 'Provisioned', 'False', 'NodeGone', message),
      });
      return requeueAfter(0);
    });
  }

  /** V15: writes to the status of a volume that no instance uses it. */
  async unbind(volume: Volume, request: ReconcileContext): Promise<Result> {
    const message = 'the volume has no attachments';
    await this.#effects.write(request, volume, {
      ...detached(volume, []),
      ...this.#effects.condition(volume, 'Bound', 'False', 'Unbound', message),
    });
    return requeueAfter(0);
  }

  /**
   * V19, V15: ends one attachment that is Detaching. The provider detaches the volume, without the node, unless the
   * node has another attachment.
   */
  async detach(situation: VolumeSituation, request: ReconcileContext): Promise<Result> {
    const { volume } = situation;
    const all = volume.attachments ?? [];
    const leaving = all.find((attachment) => attachment.state === 'Detaching');
    if (!leaving) return done();
    const startedAt = this.#effects.now;
    const left = all.filter((attachment) => attachment !== leaving);
    try {
      const stillThere = left.some((attachment) => attachment.node === leaving.node);
      if (!stillThere) {
        const { driver, context } = await this.#effects.begin(request, situation, leaving.node);
        const gone = await driver.detach({ ...context, handle: volume.handle ?? '' });
        if (isPending(gone))
          return await this.#effects.reportInProgress(
            request,
            volume,
            'detach',
            gone,
            leaving.node,
          );
      }
    } catch (thrown) {
      return this.#effects.retried(request, volume, { call: 'detach', startedAt }, thrown);
    }
    await this.#effects.write(request, volume, {
      ...detached(volume, left),
      ...this.#effects.succeeded('detach', startedAt),
      ...this.#effects.condition(
        volume,
        'Bound',
        'False',
        'Detached',
        `force-detached from ${leaving.claim} on node ${leaving.node}`,
      ),
    });
    return requeueAfter(0);
  }
}

/** Records the node of a volume of an earlier release without a topology: the node on which it was observed. */
function adoption(volume: Volume, driver: Driver, node: string): VolumeStatus {
  const placedByNode = driver.capabilities().topologyKeys.includes(nodeTopologyKey);
  if (!placedByNode || volume.topology?.[nodeTopologyKey] !== undefined) return {};
  return { topology: { ...volume.topology, [nodeTopologyKey]: node } };
}

/** The status of a volume after a detach; V15 if it was the last attachment. */
export function detached(volume: Volume, left: readonly Attachment[]): VolumeStatus {
  const [first] = left;
  if (first) return { attachments: left, boundClaim: first.claim, boundNode: first.node };
  const { status } = volume;
  const unbound = status === 'Bound' || status === 'Stalled';
  return {
    attachments: [],
    boundClaim: '',
    boundNode: '',
    ...(unbound
      ? { status: nextPhase(status, 'unbound'), reason: 'Unbound', failureMessage: '' }
      : {}),
  };
}

/** Whether the node must still grow the file system. */
export function fileSystemPending(volume: Volume): boolean {
  return findCondition(volume.conditions, 'FileSystemResizePending')?.status === 'True';
}
