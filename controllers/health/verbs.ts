import { findCondition, isDeleting, notFound } from 'kedge';
import { type JsonObject, textOf } from 'kedge/rpc';
import type { ApiParts, CustomMethod } from 'kedge/server';
import { type Instance, instances } from '../instance/kind.js';
import { type Service, services } from '../service/kind.js';
import { healthOfInstance, healthOfService } from './health.js';

function shownInstance(instance: Instance): JsonObject {
  const ready = findCondition(instance.conditions, 'Ready');
  return {
    name: instance.name,
    state: healthOfInstance(instance),
    status: instance.status ?? 'Pending',
    message: instance.failureMessage || ready?.message || '',
    restartCount: instance.restartCount ?? 0,
    since: ready?.lastTransitionAt ?? instance.metadata.createdAt,
  };
}

function shownService(service: Service, mine: readonly Instance[]): JsonObject {
  const live = mine.filter((instance) => !isDeleting(instance));
  const { state, ready, wanted, message } = healthOfService(service, live);
  return {
    kind: 'Service',
    namespace: service.namespace,
    name: service.name,
    state,
    message,
    ready,
    wanted,
    instances: live.map(shownInstance),
  };
}

async function get(parts: ApiParts, request: JsonObject): Promise<JsonObject> {
  const key = {
    namespace: textOf(request, 'namespace') || 'default',
    name: textOf(request, 'name'),
  };
  const instance = await parts.store.get(instances, key);
  if (instance) {
    const shown = shownInstance(instance);
    const ready = shown.state === 'Healthy' ? 1 : 0;
    return {
      kind: 'Instance',
      ...key,
      state: shown.state,
      message: shown.message,
      ready,
      wanted: 1,
      instances: [shown],
    };
  }
  const service = await parts.store.get(services, key);
  if (!service) throw notFound({ kind: 'Instance or Service', ...key });
  const { items } = await parts.store.list(instances, { namespace: key.namespace });
  return shownService(
    service,
    items.filter((item) => item.service === service.name),
  );
}

async function list(parts: ApiParts, request: JsonObject): Promise<JsonObject> {
  const namespace = textOf(request, 'namespace') || 'default';
  const where = namespace === '-' ? {} : { namespace };
  const all = (await parts.store.list(services, where)).items;
  const byService = new Map<string, Instance[]>();
  for (const instance of (await parts.store.list(instances, where)).items) {
    const owner = `${instance.namespace}/${instance.service}`;
    const known = byService.get(owner);
    if (known) known.push(instance);
    else byService.set(owner, [instance]);
  }
  return {
    items: all.map((service) =>
      shownService(service, byService.get(`${service.namespace}/${service.name}`) ?? []),
    ),
  };
}

/** `HealthService`: the health of workloads from their states; there are no probes yet. */
export function healthVerbs(parts: ApiParts): readonly CustomMethod[] {
  const access = (verb: string) =>
    ({ type: 'policy', resource: 'health', verb, scope: 'Namespaced' }) as const;
  return [
    {
      id: 'HealthService.Get',
      access: access('get'),
      handler: { type: 'unary', call: (_context, request) => get(parts, request) },
    },
    {
      id: 'HealthService.List',
      access: access('list'),
      handler: { type: 'unary', call: (_context, request) => list(parts, request) },
    },
  ];
}
