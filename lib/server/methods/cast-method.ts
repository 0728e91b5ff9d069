import { type Clock, hasCode, invalid, limits, TimeSlice } from '../../base/index.js';
import {
  type AnyKind,
  type ApiObject,
  formatCursor,
  keyFor,
  type ObjectKey,
} from '../../object/index.js';
import type { JsonObject } from '../../rpc/index.js';
import type { ObjectStore } from '../../store/index.js';
import type { ServedKind } from '../api/served-kind.js';
import type { AccessControl, Identity } from '../auth/index.js';
import type { CallContext, CustomMethod } from '../api/call.js';
import { requireExpected } from '../admission/expected-object.js';
import type { ValidatedWrites, Verdict } from '../admission/validated-writes.js';
import type { Validation } from '../admission/validation.js';
import { recordedObjects } from '../objects/recorded-sets.js';
import type { Admission } from '../admission/admission.js';
import { changedFields } from '../admission/changed-fields.js';
import type { WriteRequest } from '../admission/write-request.js';

/** Options of the cast method. */
export interface CastOptions {
  readonly store: ObjectStore;
  readonly admission: Admission;
  readonly writes: ValidatedWrites;
  readonly authorizer: AccessControl;
  readonly served: ReadonlyMap<string, ServedKind>;
  readonly clock: Clock;
  /** Refuses an identity whose access is restricted by object. @throws StatusError PermissionDenied */
  readonly requireUnnarrowed: (identity: Identity) => void;
}

/** Returns `CastService.Cast`, which validates a set of objects together and stores them in one transaction. */
export function castMethod(options: CastOptions): CustomMethod {
  return {
    id: 'CastService.Cast',
    access: {
      type: 'request',
      // Each object needs its own right, checked below.
      required: () => undefined,
      recorded: (request, code) => recordedObjects(options.served, request, code),
    },
    handler: { type: 'unary', call: (context, request) => cast(options, context, request) },
  };
}

function writeRequests(options: CastOptions, request: JsonObject): readonly WriteRequest[] {
  const items = (Array.isArray(request.objects) ? request.objects : []) as readonly JsonObject[];
  if (items.length === 0)
    throw invalid([{ field: 'objects', description: 'must contain at least one object' }]);
  if (items.length > limits.transactionOperationsMax)
    throw invalid([
      {
        field: 'objects',
        description: `contains ${items.length} objects, and at most ${limits.transactionOperationsMax} are allowed; split the cast`,
      },
    ]);
  return items.map((item, index) => {
    const served = options.served.get(String(item.kind));
    if (!served) {
      const known = [...options.served.keys()].join(', ');
      throw invalid([
        {
          field: `objects[${index}].kind`,
          description: `${JSON.stringify(item.kind)} is not a kind; use one of ${known}`,
        },
      ]);
    }
    const { castRefusal } = served.rules;
    if (castRefusal !== undefined)
      throw invalid([{ field: `objects[${index}].kind`, description: castRefusal }]);
    const object = (item.object ?? {}) as JsonObject;
    const namespace = typeof object.namespace === 'string' ? object.namespace : undefined;
    return { served, namespace, name: undefined, object, mode: 'createOrUpdate' };
  });
}

/**
 * Checks rights before any rule runs, so that a caller without them learns nothing. A caller that may neither create
 * nor update some object is refused before any object is looked up: the refusal is the same whether it exists or not.
 */
async function requireRights(
  options: CastOptions,
  identity: Identity,
  requests: readonly WriteRequest[],
  validation: Validation,
): Promise<void> {
  const { authorizer } = options;
  const slice = new TimeSlice(options.clock, { everyStep: true });
  const namespaceIn = ({ served, namespace }: WriteRequest): string | undefined =>
    served.kind.scope === 'Cluster' ? undefined : (namespace ?? 'default');
  for (const request of requests) {
    if (slice.due()) await slice.pause();
    const access = { resource: request.served.kind.plural, namespace: namespaceIn(request) };
    if (await authorizer.can(identity, { ...access, verb: 'update' })) continue;
    await authorizer.require(identity, { ...access, verb: 'create' });
  }
  for (const request of requests) {
    if (slice.due()) await slice.pause();
    const { served, object } = request;
    const { kind } = served;
    const namespace = namespaceIn(request);
    const key = keyFor(kind, namespace, String(object.name));
    const exists = (await found(validation, kind, key)) !== undefined;
    const verb = exists ? 'update' : 'create';
    await options.authorizer.require(identity, { resource: kind.plural, verb, namespace });
  }
}

/**
 * Returns the stored object, if any. An object with an invalid key can't exist; its violations are reported with all
 * others.
 */
async function found(
  validation: Validation,
  kind: AnyKind,
  key: ObjectKey,
): Promise<ApiObject | undefined> {
  try {
    return await validation.stored(kind, key);
  } catch (error) {
    if (hasCode(error, 'InvalidArgument')) return undefined;
    throw error;
  }
}

async function cast(
  options: CastOptions,
  context: CallContext,
  request: JsonObject,
): Promise<JsonObject> {
  const { store, admission, writes } = options;
  options.requireUnnarrowed(context.identity);
  const requests = writeRequests(options, request);
  return writes.run(context, async (validation): Promise<Verdict<JsonObject>> => {
    await requireRights(options, context.identity, requests, validation);
    const prepared = await admission.prepare(validation, requests);
    const results = prepared.map((write) => ({
      kind: write.kind.kind,
      namespace: write.object.namespace ?? '',
      name: write.object.name,
      action: !write.before ? 'created' : write.changes ? 'updated' : 'unchanged',
      changes: write.before ? changedFields(write.kind, write.object, write.before) : [],
    }));
    const changed = prepared.filter((write) => write.changes);
    const answer = { results, resourceVersion: formatCursor(store.revision, store.storeId) };
    changed.forEach(requireExpected);
    if (request.dryRun === true) return { type: 'answer', answer };
    // Other objects of the set were validated together with the unchanged one, so it must stay unchanged.
    for (const { kind, key, changes } of prepared) if (!changes) await validation.lookup(kind, key);
    const operations = changed.map((write) => write.operation);
    return { type: 'commit', operations, answer: () => answer };
  });
}
