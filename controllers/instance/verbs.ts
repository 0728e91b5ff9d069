import { notFound, parseKey } from 'kedge';
import type { JsonObject } from 'kedge/rpc';
import type { ApiParts, CallContext, CustomMethod } from 'kedge/server';
import { describeMethod, field } from '../api/describe.js';
import { causeOfInstance } from '../cause/index.js';
import { nodes } from '../node/kind.js';
import { type Volume, volumes } from '../volume/kind.js';
import { type Instance, instances } from './kind.js';
import { mountedVolumes, volumeOfMount } from '../service/index.js';

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

function hintsFor(instance: Instance): readonly string[] {
  const waiting = (instance.conditions ?? []).filter((c) => c.status === 'False');
  const reasons = new Set(waiting.map((c) => c.reason));
  const hints: string[] = [];
  if (reasons.has('RuntimeUnavailable'))
    hints.push('run it with a runtime that the condition lists, or on a node that has its runtime');
  if (reasons.has('VolumeNotReady'))
    hints.push('the volume it waits for tells why: kedge describe volume NAME');
  if (instance.status === 'Failed' || instance.status === 'Exited')
    hints.push(`its last output: kedge logs ${instance.name} -n ${instance.namespace}`);
  return hints;
}

async function describe(parts: ApiParts, request: JsonObject): Promise<JsonObject> {
  const key = { namespace: String(request.namespace), name: String(request.name) };
  const instance = await parts.store.get(instances, key);
  if (!instance) throw notFound({ kind: 'Instance', ...key });
  const all = new Map<string, Volume>();
  for (const mounted of mountedVolumes(instance)) {
    const volume = await parts.store.get(volumes, parseKey(mounted));
    if (volume) all.set(mounted, volume);
  }
  const cause = causeOfInstance(instance, (mounted) => all.get(mounted));
  const node = instance.node ? await parts.store.get(nodes, { name: instance.node }) : undefined;
  return {
    kind: 'Instance',
    ...key,
    status: instance.status,
    fields: [
      field('Cause', cause && `${cause.object}: ${cause.message}`),
      field('Service', instance.service),
      field('Runtime', instance.template.runtime),
      field('Node', instance.node),
      field('Process', instance.pid),
      field('Started', instance.startedAt),
      field('Restarts', instance.restartCount),
      field('Exit code', instance.exitCode),
      field('Message', instance.failureMessage),
      ...(instance.mounts ?? []).map((m) =>
        field(
          `Mount ${m.name}`,
          `${m.source} at ${m.mountPath}${m.readOnly ? ' (read only)' : ''}`,
        ),
      ),
    ].filter((f) => f !== undefined),
    conditions: instance.conditions ?? [],
    references: [
      { relation: 'made by', kind: 'Service', namespace: key.namespace, name: instance.service },
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
    hints: hintsFor(instance),
  };
}

/** Its controller makes it anew as soon as it is gone, with the same name and volumes. */
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
export function instanceVerbs(parts: ApiParts): readonly CustomMethod[] {
  return [
    {
      id: 'InstanceService.Restart',
      access: { type: 'policy', resource: 'instances', verb: 'update', scope: 'Namespaced' },
      handler: { type: 'unary', call: (context, request) => restart(parts, context, request) },
    },
    describeMethod(parts, instances, (request) => describe(parts, request)),
  ];
}
