import { notFound } from 'kedge';
import type { JsonObject } from 'kedge/rpc';
import type { ApiParts, CallContext, CustomMethod } from 'kedge/server';
import type { Runtime } from '../agent/index.js';
import { type Instance, instances, services } from '../kinds/index.js';
import { readLines } from './log-reader.js';
import { merge } from './merge.js';

/** What the log service reads from. */
export interface LogVerbOptions {
  readonly runtimes: readonly Runtime[];
}

/** The instance of that name, else all instances of the service of that name. */
async function targets(parts: ApiParts, request: JsonObject): Promise<readonly Instance[]> {
  const namespace = String(request.namespace);
  const name = String(request.name);
  const instance = await parts.store.get(instances, { namespace, name });
  if (instance) return [instance];
  const service = await parts.store.get(services, { namespace, name });
  if (!service) throw notFound({ kind: 'Instance or Service', namespace, name });
  const { items } = await parts.store.list(instances, { namespace });
  return items.filter((item) => item.service === name);
}

async function* linesOf(
  options: LogVerbOptions,
  instance: Instance,
  request: JsonObject,
  signal: AbortSignal,
): AsyncIterable<JsonObject> {
  const name = instance.template.runtime ?? 'container';
  const runtime = options.runtimes.find((r) => r.name === name);
  if (!runtime) return;
  const tail = typeof request.tail === 'number' ? request.tail : 0;
  const follow = request.follow === true;
  const file = runtime.logFile(instance.metadata.uid);
  for await (const content of readLines(file, { tail, follow, signal }))
    yield { instance: instance.name, content };
}

async function* logs(
  parts: ApiParts,
  options: LogVerbOptions,
  context: CallContext,
  request: JsonObject,
): AsyncIterable<JsonObject> {
  const found = await targets(parts, request);
  const sources = found.map((instance) => linesOf(options, instance, request, context.signal));
  yield* request.follow === true ? merge(sources) : inTurn(sources);
}

async function* inTurn<T>(sources: readonly AsyncIterable<T>[]): AsyncIterable<T> {
  for (const source of sources) yield* source;
}

/** `LogService.Get`: output of an instance or of a service. */
export function logVerbs(parts: ApiParts, options: LogVerbOptions): readonly CustomMethod[] {
  return [
    {
      id: 'LogService.Get',
      access: { type: 'policy', resource: 'logs', verb: 'get', scope: 'Namespaced' },
      handler: {
        type: 'stream',
        call: (context, request) => logs(parts, options, context, request),
      },
    },
  ];
}
