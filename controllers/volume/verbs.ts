import { failedPrecondition, notFound } from 'kedge';
import type { JsonObject } from 'kedge/rpc';
import type { ApiParts, CallContext, CustomMethod } from 'kedge/server';
import { instances, storageClasses, type Volume, volumes } from '../kinds/index.js';
import { describeMethod, field } from '../describe.js';
import { rearm } from './controller.js';

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
  const armed = (await rearm(parts.store, volume)) ?? volume;
  const served = parts.served.get('Volume');
  return served ? parts.resources.show(served, armed) : {};
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
      field('Handle', volume.handle),
      field('Bound claim', volume.boundClaim),
      field('Bound node', volume.boundNode),
      field('Owner service', volume.ownerService),
      field('Attempts', volume.attempts),
      field('Reason', volume.reason),
      field('Failure', volume.failureMessage),
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

/** Custom methods of volumes (design.md section 6). */
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
    describeMethod('VolumeService.Describe', 'volumes', (request) => describe(parts, request)),
  ];
}
