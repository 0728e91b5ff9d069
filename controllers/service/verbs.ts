import { invalid, notFound, timestamp } from 'kedge';
import type { JsonObject } from 'kedge/rpc';
import type { ApiParts, CallContext, CustomMethod } from 'kedge/server';
import type { DriverRegistry } from '@kedge/driver-sdk';
import { describeMethod, field } from '../description/describe.js';
import { portFields, resourceFields } from '../description/workload-fields.js';
import { requestKey } from '../references/request-key.js';
import { explainStored, hintsOf } from '../description/describe-cause.js';
import { instances } from '../instance/kind.js';
import { volumes } from '../volume/kind.js';
import { type Service, services } from './kind.js';

async function required(parts: ApiParts, request: JsonObject): Promise<Service> {
  const key = requestKey(request);
  const service = await parts.store.get(services, key);
  if (!service) throw notFound({ kind: 'Service', ...key });
  return service;
}

async function scale(
  parts: ApiParts,
  context: CallContext,
  request: JsonObject,
): Promise<JsonObject> {
  const wanted = request.scale ?? 0;
  if (typeof wanted !== 'number')
    throw invalid([{ field: 'scale', description: 'must be a whole number' }]);
  const served = parts.served.get('Service');
  if (!served) throw new TypeError('services are not served');
  return parts.resources.change(served, context, requestKey(request), () => ({ scale: wanted }));
}

/** A rolling restart: like a template change, it replaces one instance after the other. */
async function restart(
  parts: ApiParts,
  context: CallContext,
  request: JsonObject,
): Promise<JsonObject> {
  const served = parts.served.get('Service');
  if (!served) throw new TypeError('services are not served');
  const restartedAt = timestamp(parts.clock);
  return parts.resources.change(served, context, requestKey(request), () => ({ restartedAt }));
}

async function describe(
  parts: ApiParts,
  drivers: DriverRegistry,
  request: JsonObject,
): Promise<JsonObject> {
  const service = await required(parts, request);
  const { namespace, name } = service;
  const mine = (await parts.store.list(instances, { namespace })).items.filter(
    (i) => i.service === name,
  );
  const owned = (await parts.store.list(volumes, { namespace })).items.filter(
    (v) => v.ownerService === `${namespace}/${name}`,
  );
  const cause = await explainStored(parts.store, drivers, { kind: 'Service', object: service });
  return {
    kind: 'Service',
    namespace,
    name,
    status: service.status,
    fields: [
      field('Cause', cause && `${cause.object}: ${cause.message}`),
      field('Runtime', service.runtime),
      field('Image', service.image),
      field('Command', service.command?.join(' ')),
      field('Scale', service.scale),
      field('Ready instances', service.readyInstances),
      field('Generation', service.metadata.generation),
      ...portFields(service),
      ...resourceFields(service),
    ].filter((f) => f !== undefined),
    conditions: service.conditions ?? [],
    references: [
      ...mine.map((i) => ({
        relation: 'instance',
        kind: 'Instance',
        namespace,
        name: i.name,
        status: i.status,
        detail: i.failureMessage,
      })),
      ...owned.map((v) => ({
        relation: 'volume',
        kind: 'Volume',
        namespace,
        name: v.name,
        status: v.status,
        detail: v.failureMessage,
      })),
    ],
    hints: hintsOf(cause),
  };
}

/** Custom methods of services. */
export function serviceVerbs(parts: ApiParts, drivers: DriverRegistry): readonly CustomMethod[] {
  return [
    {
      id: 'ServiceService.Scale',
      access: { type: 'policy', resource: 'services', verb: 'scale', scope: 'Namespaced' },
      handler: { type: 'unary', call: (context, request) => scale(parts, context, request) },
    },
    {
      id: 'ServiceService.Restart',
      access: { type: 'policy', resource: 'services', verb: 'update', scope: 'Namespaced' },
      handler: { type: 'unary', call: (context, request) => restart(parts, context, request) },
    },
    describeMethod(parts, services, (request) => describe(parts, drivers, request)),
  ];
}
