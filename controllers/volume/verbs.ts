import {
  type ApiObject,
  failedPrecondition,
  isDeleting,
  notFound,
  type ObjectKey,
  type StatusError,
} from 'kedge';
import type { JsonObject } from 'kedge/rpc';
import type {
  AdmissionContext,
  ApiParts,
  CallContext,
  CustomMethod,
  Seen,
  Verdict,
} from 'kedge/server';
import type { DriverRegistry } from '@kedge/driver-sdk';
import { instances } from '../instance/kind.js';
import { nodes } from '../node/kind.js';
import { type Service, services } from '../service/kind.js';
import { snapshots } from '../snapshot/kind.js';
import { storageClasses } from '../storage-class/kind.js';
import { type Attachment, type Volume, type VolumeStatus, volumes } from './kind.js';
import { describeMethod, field, operationFields } from '../description/describe.js';
import { requestKey } from '../references/request-key.js';
import { explainStored, hintsOf } from '../description/describe-cause.js';
import { shownHandle } from '../secret/index.js';
import { rearm } from './reconcile/controller.js';
import { volumeHints } from './rules/describe-hints.js';
import { deletionWaitsFor, sourceValue } from './rules/in-use.js';
import { nextPhase } from './states/phases.js';
import { keptScaledAway } from './rules/scaled-away.js';

async function required(parts: ApiParts, request: JsonObject): Promise<Volume> {
  const key = requestKey(request);
  const volume = await parts.store.get(volumes, key);
  if (!volume) throw notFound({ kind: 'Volume', ...key });
  return volume;
}

async function resize(
  parts: ApiParts,
  context: CallContext,
  request: JsonObject,
): Promise<JsonObject> {
  const served = parts.served.get('Volume');
  if (!served) throw new TypeError('volumes are not served');
  return parts.resources.change(served, context, requestKey(request), () => ({
    size: request.size,
  }));
}

async function retryProvision(parts: ApiParts, request: JsonObject): Promise<JsonObject> {
  const volume = await required(parts, request);
  if (volume.status !== 'Failed')
    throw failedPrecondition(
      'NotFailed',
      `volume "${volume.namespace}/${volume.name}" is ${volume.status ?? 'Pending'}; only a Failed volume can be retried`,
    );
  if (volume.handle)
    throw failedPrecondition(
      'Provisioned',
      `volume "${volume.namespace}/${volume.name}" was provisioned as ${shownHandle(volume.handle) ?? ''} and is not provisioned again; restore a snapshot of it as a new volume, or delete it`,
    );
  const armed = (await rearm(parts.store, volume)) ?? volume;
  const served = parts.served.get('Volume');
  return served ? parts.resources.show(served, armed) : {};
}

const reuseStatus = ['status', 'attachments', 'handle'] as const;

/** V26 by a user: makes a Released volume Available with its data and without an owner service, for the next claim. */
async function reuse(
  parts: ApiParts,
  context: CallContext,
  request: JsonObject,
): Promise<JsonObject> {
  const key = requestKey(request);
  return parts.writes.run(context, async (validation): Promise<Verdict<JsonObject>> => {
    const volume = await validation.lookup(volumes, key, { status: reuseStatus });
    if (!volume) throw notFound({ kind: 'Volume', ...key });
    const label = `volume "${volume.namespace}/${volume.name}"`;
    const released = volume.status === 'Released' && (volume.attachments?.length ?? 0) === 0;
    if (!released || isDeleting(volume))
      throw failedPrecondition(
        'NotReleased',
        `${label} is ${isDeleting(volume) ? 'being deleted' : (volume.status ?? 'Pending')}; only a Released volume without attachments can be reused`,
      );
    if ((volume.handle ?? '') === '')
      throw failedPrecondition(
        'NotProvisioned',
        `${label} was never provisioned and has no data to reuse; delete it and create it again`,
      );
    const status = nextPhase('Released', 'ownerBack');
    return statusChange(parts, volume, { status, ownerService: '', reason: 'Reused' });
  });
}

/** Stores status fields of the validated volume with checks of the rule's reads. */
function statusChange(
  parts: ApiParts,
  { namespace, name, metadata: { uid } }: Pick<Seen<Volume>, 'namespace' | 'name' | 'metadata'>,
  status: VolumeStatus,
): Verdict<JsonObject> {
  const key = { namespace, name };
  return {
    type: 'commit',
    operations: [{ op: 'updateStatus', kind: volumes, key, status, precondition: { uid } }],
    answer: ([result]) => shown(parts, result?.object),
  };
}

function shown(parts: ApiParts, volume: ApiObject | undefined): JsonObject {
  const served = parts.served.get('Volume');
  return served && volume ? parts.resources.show(served, volume) : {};
}

/**
 * V19: marks attachments for a detach through the provider. Without force only those of instances that do not exist any
 * more; with force also those on a node that is not Ready. Never that of an existing instance on a Ready node, whose
 * mounted file system would break. Attachments that are kept do not block the others.
 */
async function detach(
  parts: ApiParts,
  context: CallContext,
  request: JsonObject,
): Promise<JsonObject> {
  const key = requestKey(request);
  return parts.writes.run(context, async (validation): Promise<Verdict<JsonObject>> => {
    const volume = await validation.lookup(volumes, key, { status: ['attachments'] });
    if (!volume) throw notFound({ kind: 'Volume', ...key });
    const all = volume.attachments ?? [];
    if (all.length === 0) {
      const answer = shown(parts, await validation.stored(volumes, key));
      return { type: 'answer', answer };
    }
    const refusals: StatusError[] = [];
    const attachments: Attachment[] = [];
    for (const attachment of all) {
      const { claim, node } = attachment;
      const refusal = await refusalOf(validation, volume, claim, node, request.force === true);
      if (refusal) refusals.push(refusal);
      attachments.push(refusal ? attachment : { ...attachment, state: 'Detaching' });
    }
    // A refusal that force would solve is reported before others.
    const report = refusals.find(({ reason }) => reason === 'NodeLost') ?? refusals[0];
    if (report && refusals.length === all.length) throw report;
    return statusChange(parts, volume, { attachments });
  });
}

/**
 * The reason why a volume can't be detached from a claim: FailedPrecondition (InUse, NodeLost). Undefined if it can.
 */
async function refusalOf(
  context: AdmissionContext,
  volume: ObjectKey,
  claim: string,
  nodeName: string,
  force: boolean,
): Promise<StatusError | undefined> {
  const [namespace = '', name = ''] = claim.split('/');
  if (!(await context.lookup(instances, { namespace, name }))) return undefined;
  const label = `volume "${volume.namespace}/${volume.name}"`;
  const node = await context.lookup(nodes, { name: nodeName }, { status: ['status'] });
  // A ready node detaches by itself.
  if (node?.status === 'Ready')
    return failedPrecondition(
      'InUse',
      `${label} is used by instance "${claim}" on node ${nodeName}, which is Ready; scale its service down or delete it, and the node detaches the volume`,
    );
  if (!force)
    return failedPrecondition(
      'NodeLost',
      `${label} is used by instance "${claim}" on node ${nodeName}, which is not Ready; make sure that the node is down, then use --force: a node that still writes would destroy data`,
    );
  return undefined;
}

async function ownerOf(
  { store }: ApiParts,
  { ownerService = '' }: Volume,
): Promise<Service | undefined> {
  const [namespace = '', name = ''] = ownerService.split('/');
  return name === '' ? undefined : store.get(services, { namespace, name });
}

async function describe(
  parts: ApiParts,
  drivers: DriverRegistry,
  request: JsonObject,
): Promise<JsonObject> {
  const volume = await required(parts, request);
  const { store } = parts;
  const storageClass = await store.get(storageClasses, { name: volume.storageClassName });
  const claims = (volume.attachments ?? []).map((attachment) => attachment.claim);
  // Instances of other namespaces may claim it, too.
  const users = (
    await Promise.all(
      claims.map((claim) => {
        const [namespace = '', name = ''] = claim.split('/');
        return store.get(instances, { namespace, name });
      }),
    )
  ).filter((instance) => instance !== undefined);
  const copies = isDeleting(volume)
    ? await store.list(snapshots, { index: 'sourceVolume', value: sourceValue(volume) })
    : undefined;
  const waitsFor = copies && deletionWaitsFor(volume, copies.items);
  const cause = await explainStored(store, drivers, { kind: 'Volume', object: volume });
  const keptBecause = keptScaledAway(volume, await ownerOf(parts, volume));
  return {
    kind: 'Volume',
    namespace: volume.namespace,
    name: volume.name,
    status: volume.status,
    fields: [
      field('Cause', cause && `${cause.object}: ${cause.message}`),
      field('Class', volume.storageClassName),
      field('Driver', volume.driver),
      field('Size', volume.size),
      field('Access mode', volume.accessMode),
      field('Reclaim policy', volume.reclaimPolicy ?? volume.effectiveReclaimPolicy),
      field('Handle', shownHandle(volume.handle)),
      field('Bound claim', volume.boundClaim),
      field('Bound node', volume.boundNode),
      field('Owner service', volume.ownerService),
      field('Attempts', volume.attempts),
      field('Reason', volume.reason),
      field('Failure', volume.failureMessage),
      ...operationFields(volume.lastOperation),
    ].filter((f) => f !== undefined),
    conditions: volume.conditions ?? [],
    references: [
      {
        relation: 'class',
        kind: 'StorageClass',
        name: volume.storageClassName,
        status: storageClass ? 'found' : 'missing',
      },
      ...users.map((instance) => ({
        relation: 'used by',
        kind: 'Instance',
        namespace: instance.namespace,
        name: instance.name,
        status: instance.status,
      })),
    ],
    hints: [
      ...hintsOf(cause),
      ...volumeHints({ hasClass: storageClass !== undefined, waitsFor, keptBecause }),
    ],
  };
}

/** Custom methods of volumes. */
export function volumeVerbs(parts: ApiParts, drivers: DriverRegistry): readonly CustomMethod[] {
  const access = {
    type: 'policy',
    resource: 'volumes',
    verb: 'update',
    scope: 'Namespaced',
  } as const;
  return [
    {
      id: 'VolumeService.Resize',
      access,
      handler: { type: 'unary', call: (context, request) => resize(parts, context, request) },
    },
    {
      id: 'VolumeService.RetryProvision',
      access,
      handler: { type: 'unary', call: (_context, request) => retryProvision(parts, request) },
    },
    {
      id: 'VolumeService.Detach',
      access,
      handler: { type: 'unary', call: (context, request) => detach(parts, context, request) },
    },
    {
      id: 'VolumeService.Reuse',
      access,
      handler: { type: 'unary', call: (context, request) => reuse(parts, context, request) },
    },
    describeMethod(parts, volumes, (request) => describe(parts, drivers, request)),
  ];
}
