import {
  failedPrecondition,
  invalid,
  isDeleting,
  modifyStatus,
  notFound,
  type ObjectKey,
  parseQuantity,
} from 'kedge';
import type { Parameters } from '@kedge/driver-sdk';
import { isJsonObject, type JsonObject, textOf } from 'kedge/rpc';
import type { AdmissionContext, ApiParts, CallContext, CustomMethod } from 'kedge/server';
import type { DriverRegistry } from '@kedge/driver-sdk';
import { describeMethod, field, operationFields } from '../description/describe.js';
import { requestKey } from '../references/request-key.js';
import { explainStored, hintsOf } from '../description/describe-cause.js';
import { storageClasses } from '../storage-class/kind.js';
import { sourceSnapshot, volumes } from '../volume/kind.js';
import { readableSize } from '../resources/readable-size.js';
import { type Snapshot, snapshots } from './kind.js';
import { holderOf, rebindParameters, type Sealer, shownHandle } from '../secret/index.js';
import { nextPhase } from './phases.js';

async function required(parts: ApiParts, request: JsonObject): Promise<Snapshot> {
  const key = requestKey(request);
  const snapshot = await parts.store.get(snapshots, key);
  if (!snapshot) throw notFound({ kind: 'Snapshot', ...key });
  return snapshot;
}

/** Creates a volume from a Ready snapshot, under the rules of every volume. */
async function restore(
  parts: ApiParts,
  sealer: Sealer,
  context: CallContext,
  request: JsonObject,
): Promise<JsonObject> {
  const served = parts.served.get('Volume');
  if (!served) throw new TypeError('volumes are not served');
  const target = isJsonObject(request.volume) ? request.volume : {};
  const key = requestKey(request);
  const into = textOf(target, 'namespace') || key.namespace;
  const compose = async (admission: AdmissionContext): Promise<JsonObject> => {
    const volume = await restored(sealer, admission, key, target, into);
    // The path authorizes only the snapshot's namespace.
    const access = { resource: 'volumes', verb: 'create', namespace: into };
    await parts.authorizer.require(context.identity, access);
    return volume;
  };
  const dryRun = request.dryRun === true;
  return parts.resources.createFrom(served, context, { namespace: into, dryRun, compose });
}

/**
 * The volume that a restore creates.
 * @throws StatusError NotFound, InvalidArgument without a name, FailedPrecondition if the snapshot is not Ready
 */
async function restored(
  sealer: Sealer,
  admission: AdmissionContext,
  key: Required<ObjectKey>,
  target: JsonObject,
  into: string,
): Promise<JsonObject> {
  const { namespace, name } = key;
  const status = ['status', 'storageClassName', 'restoreSize'] as const;
  const snapshot = await admission.lookup(snapshots, key, { status });
  if (!snapshot) throw notFound({ kind: 'Snapshot', ...key });
  const wanted = textOf(target, 'name');
  if (wanted === '')
    throw invalid([
      { field: 'volume.name', description: 'is required: the name of the new volume' },
    ]);
  if (snapshot.status !== 'Ready')
    throw failedPrecondition(
      'SnapshotNotReady',
      `snapshot "${namespace}/${name}" is ${snapshot.status ?? 'Pending'}; only a Ready one can be restored`,
      { kind: 'Snapshot', namespace, name },
    );
  const source = await admission.lookup(volumes, { namespace, name: snapshot.source.volume });
  const rebound = (parameters: Parameters): Parameters =>
    rebindParameters(
      sealer,
      parameters,
      holderOf(volumes, { namespace, name: snapshot.source.volume }),
      holderOf(volumes, { namespace: into, name: wanted }),
    );
  return {
    name: wanted,
    source: { snapshot: into === namespace ? name : `${name}.${namespace}.svc` },
    storageClassName: textOf(target, 'storageClassName') || snapshot.storageClassName || '',
    size: textOf(target, 'size') || readableSize(BigInt(snapshot.restoreSize ?? '0')),
    accessMode: source?.accessMode ?? 'ReadWriteOnce',
    ...(source?.parameters ? { parameters: rebound(source.parameters) } : {}),
    ...(isJsonObject(target.labels) ? { labels: target.labels } : {}),
  };
}

async function retry(parts: ApiParts, request: JsonObject): Promise<JsonObject> {
  const snapshot = await required(parts, request);
  const { namespace, name } = snapshot;
  if (snapshot.handle && snapshot.status === 'Failed')
    throw failedPrecondition(
      'Provisioned',
      `snapshot "${namespace}/${name}" was created as ${shownHandle(snapshot.handle) ?? ''} and is not created again; ${isDeleting(snapshot) ? 'its deletion is retried automatically' : 'delete it, and create another one'}`,
    );
  if (snapshot.status !== 'Failed')
    throw failedPrecondition(
      'NotFailed',
      `snapshot "${namespace}/${name}" is ${snapshot.status ?? 'Pending'}; only a snapshot whose creation failed can be retried`,
    );
  const armed = await modifyStatus(parts.store, snapshots, { namespace, name }, (current) =>
    current.status === 'Failed' && !current.handle
      ? {
          status: nextPhase('Failed', 'retried'),
          attempts: 0,
          failureMessage: '',
          reason: 'Retried',
        }
      : undefined,
  );
  const served = parts.served.get('Snapshot');
  return served ? parts.resources.show(served, armed ?? snapshot) : {};
}

async function describe(
  parts: ApiParts,
  drivers: DriverRegistry,
  request: JsonObject,
): Promise<JsonObject> {
  const snapshot = await required(parts, request);
  const { store } = parts;
  const { namespace, name } = snapshot;
  const source = await store.get(volumes, { namespace, name: snapshot.source.volume });
  const made = (await store.list(volumes)).items.filter((volume) => {
    const key = sourceSnapshot(volume);
    return key?.namespace === namespace && key.name === name;
  });
  const storageClass = snapshot.storageClassName
    ? await store.get(storageClasses, { name: snapshot.storageClassName })
    : undefined;
  const cause = await explainStored(store, drivers, { kind: 'Snapshot', object: snapshot });
  const size = parseQuantity(snapshot.restoreSize ?? '');
  return {
    kind: 'Snapshot',
    namespace,
    name,
    status: snapshot.status,
    fields: [
      field('Cause', cause && `${cause.object}: ${cause.message}`),
      field('Source', snapshot.source.volume),
      field('Driver', snapshot.driver),
      field('Handle', shownHandle(snapshot.handle)),
      field('Reclaim policy', snapshot.reclaimPolicy),
      field('Restore size', size === undefined ? undefined : `${size} bytes`),
      field('Ready at', snapshot.readyAt),
      field('Attempts', snapshot.attempts),
      field('Reason', snapshot.reason),
      field('Failure', snapshot.failureMessage),
      ...operationFields(snapshot.lastOperation),
    ].filter((f) => f !== undefined),
    conditions: snapshot.conditions ?? [],
    references: [
      {
        relation: 'source',
        kind: 'Volume',
        namespace,
        name: snapshot.source.volume,
        status: source ? source.status : 'gone',
      },
      ...(snapshot.storageClassName
        ? [
            {
              relation: 'class',
              kind: 'StorageClass',
              name: snapshot.storageClassName,
              status: storageClass ? 'found' : 'missing',
            },
          ]
        : []),
      ...made.map((volume) => ({
        relation: 'restored as',
        kind: 'Volume',
        namespace: volume.namespace,
        name: volume.name,
        status: volume.status,
      })),
    ],
    hints:
      snapshot.status === 'Ready' && !cause
        ? [`kedge snapshot restore ${name} --to NEW-VOLUME -n ${namespace}`]
        : hintsOf(cause),
  };
}

/** Custom methods of snapshots. Restoring needs the right to create volumes. */
export function snapshotVerbs(
  parts: ApiParts,
  drivers: DriverRegistry,
  sealer: Sealer,
): readonly CustomMethod[] {
  return [
    {
      id: 'SnapshotService.Restore',
      access: { type: 'policy', resource: 'volumes', verb: 'create', scope: 'Namespaced' },
      handler: {
        type: 'unary',
        call: (context, request) => restore(parts, sealer, context, request),
      },
    },
    {
      id: 'SnapshotService.Retry',
      access: { type: 'policy', resource: 'snapshots', verb: 'update', scope: 'Namespaced' },
      handler: { type: 'unary', call: (_context, request) => retry(parts, request) },
    },
    describeMethod(parts, snapshots, (request) => describe(parts, drivers, request)),
  ];
}
