import {
  failedPrecondition,
  type FieldViolation,
  invalid,
  notFound,
  type ObjectMeta,
  parseQuantity,
  StatusError,
  timestamp,
} from 'kedge';
import { DriverError, type ProviderResource } from '@kedge/driver-sdk';
import { type JsonObject, textOf } from 'kedge/rpc';
import type { ApiParts, CallContext, Verdict } from 'kedge/server';
import { setCondition } from '../../reasons/index.js';
import type { StorageClass } from '../../storage-class/kind.js';
import { type Volume, volumes, type VolumeStatus } from '../kind.js';
import { readableSize } from '../../resources/readable-size.js';
import { nextPhase } from '../states/phases.js';
import {
  asAnswer,
  type ClassCall,
  classCall,
  type InspectionOptions,
  otherPlaceOf,
  requireClass,
} from '../../inspection/class-call.js';
import { distinctVolumes, requireUnmanaged } from './managed-resource.js';

/** The request of an import. */
interface ImportRequest {
  readonly namespace: string;
  readonly name: string;
  readonly storageClassName: string;
  readonly handle: string;
  readonly size: string;
  readonly takeOver: boolean;
  readonly dryRun: boolean;
}

function requestOf(request: JsonObject): ImportRequest {
  const violations: FieldViolation[] = ['name', 'storageClassName', 'handle']
    .filter((field) => textOf(request, field) === '')
    .map((field) => ({ field, description: 'is required' }));
  if (violations.length > 0) throw invalid(violations);
  return {
    namespace: textOf(request, 'namespace'),
    name: textOf(request, 'name'),
    storageClassName: textOf(request, 'storageClassName'),
    handle: textOf(request, 'handle'),
    size: textOf(request, 'size'),
    takeOver: request.takeOver === true,
    dryRun: request.dryRun === true,
  };
}

/** A driver's error as the answer of a call. */
function answerTo(thrown: unknown, handle: string): StatusError {
  if (thrown instanceof StatusError) return thrown;
  const error = DriverError.from(thrown);
  const { kind, retryAfterMs } = error;
  const message = asAnswer(error);
  if (kind === 'NotFound') return notFound({ kind: 'volume at the provider', name: handle });
  if (kind === 'Unavailable' || kind === 'Timeout' || kind === 'Throttled')
    return new StatusError({
      code: 'Unavailable',
      reason: 'ProviderUnavailable',
      message,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
  return failedPrecondition('ProviderRefused', message);
}

/** Observes the volume at the provider. @throws StatusError FailedPrecondition (ImportUnsupported); DriverError */
async function found(call: ClassCall, { handle }: ImportRequest): Promise<ProviderResource> {
  const { driver, request } = call;
  if (!driver.find)
    throw failedPrecondition(
      'ImportUnsupported',
      driver.capabilities().ownsData
        ? `driver ${driver.name} can't import volumes`
        : `driver ${driver.name} needs no import: create a volume that names the directory`,
    );
  return driver.find({ ...request, handle });
}

function sizeOf({ sizeBytes }: ProviderResource, { size }: ImportRequest): string {
  const field = 'size';
  if (sizeBytes === undefined) {
    if (size !== '') return size;
    const description =
      'is required: the driver enforces no sizes, so the provider knows none; use --size';
    throw invalid([{ field, description }]);
  }
  if (size === '' || parseQuantity(size) === sizeBytes) return readableSize(sizeBytes);
  const description = `${JSON.stringify(size)} is not the size of the volume, which is ${readableSize(sizeBytes)}; omit it, and resize the volume after the import`;
  throw invalid([{ field, description }]);
}

/** A volume is attached where it is, not where the class says. */
function requirePlace(call: ClassCall, resource: ProviderResource): void {
  const other = otherPlaceOf(call, resource);
  if (!other) return;
  const description = `its parameter ${other.parameter} names another place than that of the volume, which is ${other.place}; use a class of that place`;
  throw invalid([{ field: 'storageClassName', description }]);
}

function requireOrigin(
  { cluster, name }: ProviderResource,
  { takeOver, handle }: ImportRequest,
  clusterId: string,
): void {
  if (cluster === undefined || cluster === clusterId || takeOver) return;
  throw failedPrecondition(
    'ForeignVolume',
    `volume ${handle} (${name}) has the mark of cluster ${cluster}, and this is cluster ${clusterId}; make sure that the other one does not use it any more, then use --take-over: two clusters that write would destroy data`,
  );
}

/** The fields that provisioning would have recorded. */
function recorded(
  { driver, parameters }: ClassCall,
  resource: ProviderResource,
  size: string,
  now: string,
): Partial<Volume> {
  const { handle, name, sizeBytes, topology = {} } = resource;
  const message = `imported: driver ${driver.name} found it`;
  const made = { type: 'Provisioned', status: 'True', reason: 'Provisioned', message } as const;
  return {
    driver: driver.name,
    driverParameters: parameters,
    ownParameters: [],
    handle,
    importedAs: name,
    sizeBytes: String(sizeBytes ?? parseQuantity(size) ?? 0n),
    topology,
    effectiveReclaimPolicy: 'retain',
    // It is never formatted.
    formatted: true,
    reason: 'Provisioned',
    conditions: setCondition(undefined, { ...made, observedGeneration: 1 }, now),
  };
}

/**
 * Brings an existing volume of a provider under management: observes it, and creates a Volume object with its handle.
 * Nothing changes at the provider.
 * @throws StatusError PermissionDenied; NotFound without the class or the volume; AlreadyExists for the name of another
 * object; InvalidArgument for a missing field, another size or another place; FailedPrecondition if it can't be
 * imported, is managed or has the mark of another cluster; Unavailable
 */
export async function importVolume(
  parts: ApiParts,
  options: InspectionOptions,
  context: CallContext,
  given: JsonObject,
): Promise<JsonObject> {
  const served = parts.served.get('Volume');
  if (!served) throw new TypeError('volumes are not served');
  const request = requestOf(given);
  const { namespace, name, handle, storageClassName } = request;
  const key = { namespace, name };
  const access = { resource: 'volumes', verb: 'create', namespace };
  await parts.authorizer.require(context.identity, access);
  const storageClass: StorageClass = await requireClass(parts.store, storageClassName);
  let call: ClassCall;
  let resource: ProviderResource;
  try {
    call = await classCall(options, storageClass, key, context.signal);
    resource = await found(call, request);
  } catch (thrown) {
    throw answerTo(thrown, handle);
  }
  requirePlace(call, resource);
  requireOrigin(resource, request, options.clusterId);
  const size = sizeOf(resource, request);
  const others = await distinctVolumes(parts, options, call, { key, resource });
  const object = {
    name,
    storageClassName,
    size,
    accessMode: 'ReadWriteOnce',
    reclaimPolicy: 'retain',
  };
  const status: VolumeStatus = { status: nextPhase('Pending', 'imported') };
  return parts.writes.run(context, async (validation): Promise<Verdict<JsonObject>> => {
    await requireUnmanaged(parts, validation, call, resource, others);
    const asked = { served, namespace, name: undefined, object, mode: 'create' } as const;
    const [write] = await parts.admission.prepare(validation, [asked]);
    if (write?.operation.op !== 'create') throw new TypeError('an import creates an object');
    const { operation } = write;
    const facts = recorded(call, resource, size, timestamp(parts.clock));
    const created = { ...operation, object: { ...operation.object, ...facts } };
    if (request.dryRun) {
      // It has no metadata, because nothing is stored.
      const shown = { ...write.object, ...facts, metadata: {} as ObjectMeta };
      return { type: 'answer', answer: parts.resources.show(served, shown) };
    }
    return {
      type: 'commit',
      operations: [created, { op: 'updateStatus', kind: volumes, key, status }],
      answer: (results) => parts.resources.show(served, results[1]?.object ?? write.object),
    };
  });
}
