import { failedPrecondition, notFound } from 'kedge';
import type { JsonObject } from 'kedge/rpc';
import type { ApiParts, CallContext, CustomMethod } from 'kedge/server';
import { instances, nodes, storageClasses, type Volume, volumes } from '../kinds/index.js';
import { describeMethod, field, operationFields } from '../describe.js';
import { shownHandle } from '../secret/index.js';
import { rearm } from './controller.js';
import { nextPhase } from './phases.js';

async function required(parts: ApiParts, request: JsonObject): Promise<Volume> {
  const key = { namespace: String(request.namespace), name: String(request.name) };
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
  const volume = await required(parts, request);
  return parts.resources.change(served, context, volume, { size: request.size });
}

async function retryProvision(parts: ApiParts, request: JsonObject): Promise<JsonObject> {
  const volume = await required(parts, request);
  if (volume.status !== 'Failed')
    throw failedPrecondition(
      'NotFailed',
      `volume "${volume.namespace}/${volume.name}" is ${volume.status ?? 'Pending'}; only a Failed one is tried again by hand`,
    );
  if (volume.handle)
    throw failedPrecondition(
      'Provisioned',
      `volume "${volume.namespace}/${volume.name}" was provisioned as ${shownHandle(volume.handle) ?? ''} and is not made anew: its message says what failed. Restore a snapshot, or delete it`,
    );
  const armed = (await rearm(parts.store, volume)) ?? volume;
  const served = parts.served.get('Volume');
  return served ? parts.resources.show(served, armed) : {};
}

/** V26 by hand: the data goes on to whoever claims it next. */
async function reuse(parts: ApiParts, request: JsonObject): Promise<JsonObject> {
  const volume = await required(parts, request);
  const label = `volume "${volume.namespace}/${volume.name}"`;
  const released = volume.status === 'Released' && (volume.attachments?.length ?? 0) === 0;
  if (!released || volume.metadata.deletionRequestedAt !== undefined)
    throw failedPrecondition(
      'NotReleased',
      `${label} is ${volume.metadata.deletionRequestedAt ? 'being deleted' : (volume.status ?? 'Pending')}; only a Released one that nobody uses can be used again`,
    );
  if ((volume.handle ?? '') === '')
    throw failedPrecondition(
      'NotProvisioned',
      `${label} was never provisioned, so it has no data to be used again; delete it and create it anew`,
    );
  const key = { namespace: volume.namespace, name: volume.name };
  const { uid, resourceVersion } = volume.metadata;
  const now = await parts.store.updateStatus(
    volumes,
    key,
    { status: nextPhase('Released', 'ownerBack'), ownerService: '', reason: 'Reused' },
    { uid, resourceVersion },
  );
  const served = parts.served.get('Volume');
  return served ? parts.resources.show(served, now) : {};
}

/** Whether a node still does its work; if so, its agent is the one who detaches. */
async function answers(parts: ApiParts, node: string): Promise<boolean> {
  return (await parts.store.get(nodes, { name: node }))?.status === 'Ready';
}

/**
 * V19: marks the attachments to be taken away by the provider's means. Without force only what no
 * instance uses any more; with force also from a node that does not answer. Never under a node that
 * does: its file system would be torn from it.
 */
async function detach(parts: ApiParts, request: JsonObject): Promise<JsonObject> {
  const volume = await required(parts, request);
  const served = parts.served.get('Volume');
  const show = (shown: Volume): JsonObject => (served ? parts.resources.show(served, shown) : {});
  const all = volume.attachments ?? [];
  const label = `volume "${volume.namespace}/${volume.name}"`;
  if (all.length === 0) return show(volume);
  for (const { claim, node } of all) {
    const [namespace = '', name = ''] = claim.split('/');
    const instance = await parts.store.get(instances, { namespace, name });
    if (!instance) continue;
    if (await answers(parts, node))
      throw failedPrecondition(
        'InUse',
        `${label} is used by instance "${claim}" on node ${node}, which answers; scale its service down or delete it, and the node lets go by itself`,
      );
    if (request.force !== true)
      throw failedPrecondition(
        'NodeLost',
        `${label} is used by instance "${claim}" on node ${node}, which does not answer; make sure that the node is down, then use force: a node that still writes would destroy data`,
      );
  }
  const key = { namespace: volume.namespace, name: volume.name };
  const { uid, resourceVersion } = volume.metadata;
  const attachments = all.map((attachment) => ({ ...attachment, state: 'Detaching' as const }));
  return show(
    await parts.store.updateStatus(volumes, key, { attachments }, { uid, resourceVersion }),
  );
}

async function describe(parts: ApiParts, request: JsonObject): Promise<JsonObject> {
  const volume = await required(parts, request);
  const { store } = parts;
  const storageClass = await store.get(storageClasses, { name: volume.storageClassName });
  const claims = (volume.attachments ?? []).map((attachment) => attachment.claim);
  const users = (await store.list(instances, { namespace: volume.namespace })).items.filter((i) =>
    claims.includes(`${i.namespace}/${i.name}`),
  );
  const hints: string[] = [];
  if (volume.status === 'Failed')
    hints.push(
      `mend what the message names; a change of the volume, its class or its secret tries again by itself, or: kedge volume retry-provision ${volume.name} -n ${volume.namespace}`,
    );
  if (!storageClass)
    hints.push('its class is gone; deletion and detach use the captured driverParameters');
  return {
    kind: 'Volume',
    namespace: volume.namespace,
    name: volume.name,
    status: volume.status,
    fields: [
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
    hints,
  };
}

/** Custom methods of volumes. */
export function volumeVerbs(parts: ApiParts): readonly CustomMethod[] {
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
      handler: { type: 'unary', call: (_context, request) => detach(parts, request) },
    },
    {
      id: 'VolumeService.Reuse',
      access,
      handler: { type: 'unary', call: (_context, request) => reuse(parts, request) },
    },
    describeMethod(parts, volumes, (request) => describe(parts, request)),
  ];
}
