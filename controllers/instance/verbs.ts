import { notFound } from 'kedge';
import type { JsonObject } from 'kedge/rpc';
import type { ApiParts, CallContext, CustomMethod } from 'kedge/server';
import type { DriverRegistry } from '@kedge/driver-sdk';
import { describeMethod, field } from '../description/describe.js';
import { resourceFields } from '../description/workload-fields.js';
import { requestKey } from '../references/request-key.js';
import { explainStored, hintsOf } from '../description/describe-cause.js';
import { nodes } from '../node/kind.js';
import { volumes } from '../volume/kind.js';
import { type Instance, instances } from './kind.js';
import { volumeOfMount } from '../references/claim.js';
import { portLabel } from '../resources/index.js';

async function volumeReferences(parts: ApiParts, instance: Instance): Promise<readonly object[]> {
  const { namespace, service, ordinal, template } = instance;
  return Promise.all(
    (template.volumes ?? []).map(async (mount) => {
      const key = volumeOfMount(mount, namespace, service, ordinal);
      const volume = key && (await parts.store.get(volumes, key));
      return {
        relation: `mounted at ${mount.mountPath}`,
        kind: 'Volume',
        namespace: key?.namespace ?? namespace,
        name: key?.name ?? mount.claim?.name ?? mount.name,
        status: volume ? volume.status : 'missing',
        detail: volume?.failureMessage ?? '',
      };
    }),
  );
}

async function describe(
  parts: ApiParts,
  drivers: DriverRegistry,
  request: JsonObject,
): Promise<JsonObject> {
  const key = requestKey(request);
  const instance = await parts.store.get(instances, key);
  if (!instance) throw notFound({ kind: 'Instance', ...key });
  const cause = await explainStored(parts.store, drivers, { kind: 'Instance', object: instance });
  const node = instance.node ? await parts.store.get(nodes, { name: instance.node }) : undefined;
  return {
    kind: 'Instance',
    ...key,
    status: instance.status,
    fields: [
      field('Cause', cause && `${cause.object}: ${cause.message}`),
      field('Service', instance.service),
      field('Runtime', instance.template.runtime),
      field('Image', instance.template.image),
      field('Image digest', instance.imageDigest),
      field('Node', instance.node),
      field('Nominated node', instance.nominatedNode),
      field('Container', instance.containerId),
      field('Process', instance.pid),
      field('Started', instance.startedAt),
      field('Restarts', instance.restartCount),
      field('Exit code', instance.exitCode),
      field('Message', instance.failureMessage),
      field('Address', instance.ip),
      ...(instance.hostPorts ?? []).map(({ name, address, hostPort, port, protocol }) =>
        field(
          `Port ${name}`,
          `${address ? `${address}:` : ''}${hostPort} -> ${portLabel(port, protocol)}`,
        ),
      ),
      ...resourceFields(instance.template),
      ...(instance.mounts ?? []).map((m) =>
        field(
          `Mount ${m.name}`,
          `${m.source} at ${m.mountPath}${m.readOnly ? ' (read only)' : ''}`,
        ),
      ),
    ].filter((f) => f !== undefined),
    conditions: instance.conditions ?? [],
    references: [
      { relation: 'created by', kind: 'Service', namespace: key.namespace, name: instance.service },
      ...(instance.node
        ? [
            {
              relation: 'runs on',
              kind: 'Node',
              name: instance.node,
              status: node?.status ?? 'missing',
            },
          ]
        : []),
      ...(await volumeReferences(parts, instance)),
    ],
    hints: hintsOf(cause),
  };
}

/** Deletes an instance. The service controller recreates it with the same name and volumes. */
async function restart(
  parts: ApiParts,
  context: CallContext,
  request: JsonObject,
): Promise<JsonObject> {
  const served = parts.served.get('Instance');
  if (!served) throw new TypeError('instances are not served');
  return parts.resources.unary('Delete', served, context, request);
}

/** Custom methods of instances. */
export function instanceVerbs(parts: ApiParts, drivers: DriverRegistry): readonly CustomMethod[] {
  return [
    {
      id: 'InstanceService.Restart',
      access: { type: 'policy', resource: 'instances', verb: 'update', scope: 'Namespaced' },
      handler: { type: 'unary', call: (context, request) => restart(parts, context, request) },
    },
    describeMethod(parts, instances, (request) => describe(parts, drivers, request)),
  ];
}
