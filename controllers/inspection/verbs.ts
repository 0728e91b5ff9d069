import { type JsonObject, textOf } from 'kedge/rpc';
import type { ApiParts, CallContext, CustomMethod } from 'kedge/server';
import { checkClass } from './check-class.js';
import { findOrphans, type Orphan } from './orphans.js';
import { type InspectionOptions, requireClass } from './class-call.js';

/** Namespace of the secrets that a class refers to without one. */
const namespaceDefault = 'default';

async function check(
  { store }: ApiParts,
  options: InspectionOptions,
  { signal }: CallContext,
  request: JsonObject,
): Promise<JsonObject> {
  const storageClass = await requireClass(store, textOf(request, 'name'));
  const namespace = textOf(request, 'secretNamespace') || namespaceDefault;
  const checked = await checkClass({ ...options, store }, storageClass, namespace, signal);
  const { driver, provider, reports } = checked;
  const requirements = reports.map(({ permission, state, needed, message = '' }) => ({
    name: permission,
    state,
    neededFor: needed,
    message,
  }));
  return { driver, provider, node: options.here, requirements };
}

function shown(orphan: Orphan): JsonObject {
  const { storageClassName, driver, origin, resource, command, secondOf } = orphan;
  const { type, handle, name, sizeBytes, cluster = '', instance = '' } = resource;
  return {
    storageClassName,
    driver,
    type,
    handle,
    name,
    sizeBytes: sizeBytes === undefined ? '' : String(sizeBytes),
    origin,
    clusterId: cluster,
    attachedTo: instance,
    importCommand: command,
    secondOf: secondOf?.label ?? '',
    usedHandle: secondOf?.handle ?? '',
  };
}

async function orphans(
  { store }: ApiParts,
  options: InspectionOptions,
  { signal }: CallContext,
  request: JsonObject,
): Promise<JsonObject> {
  const found = await findOrphans(
    { ...options, store },
    {
      storageClassName: textOf(request, 'storageClassName'),
      all: request.all === true,
      namespace: textOf(request, 'secretNamespace') || namespaceDefault,
      signal,
    },
  );
  return { orphans: found.orphans.map(shown), warnings: found.warnings };
}

/** Methods that ask drivers about a class or its resources, and change nothing. */
export function inspectionVerbs(
  parts: ApiParts,
  options: InspectionOptions,
): readonly CustomMethod[] {
  return [
    {
      id: 'StorageClassService.Check',
      access: { type: 'policy', resource: 'driverchecks', verb: 'create', scope: 'Cluster' },
      handler: {
        type: 'unary',
        call: (context, request) => check(parts, options, context, request),
      },
    },
    {
      id: 'AdminService.FindOrphans',
      access: { type: 'policy', resource: 'orphans', verb: 'list', scope: 'Cluster' },
      handler: {
        type: 'unary',
        call: (context, request) => orphans(parts, options, context, request),
      },
    },
  ];
}
