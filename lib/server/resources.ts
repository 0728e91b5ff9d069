import { type Clock, hasCode, invalid, limits } from '../base/index.js';
import {
  asObject,
  fieldsOf,
  type AnyKind,
  type ApiObject,
  demandObjectVersion,
  keyFor,
  type ObjectKey,
  type LabelSelector,
  type FieldSelector,
  type WatchEvent,
  parseFieldSelector,
  parseLabelSelector,
  withText,
} from '../object/index.js';
import {
  bodyField,
  isJsonObject,
  type JsonObject,
  present,
  type StandardVerb,
  textOf,
} from '../rpc/index.js';
import type { ObjectStore } from '../store/index.js';
import type { ServedKind } from './admission.js';
import type { AccessControl } from './auth/index.js';
import type { CallContext } from './call.js';
import { demandExpected, demandStored } from './expected-object.js';
import { demandKnownPaths } from './field-paths.js';
import type { ObjectAccess } from './object-access.js';
import { accessesByIndex, indexSelection } from './kind-check-operations.js';
import { RecentCache } from './recent-cache.js';
import { listCaller, listResource } from './resource-list.js';
import { watchResource } from './resource-watch.js';
import type { WritePlanner } from './write-planner.js';
import type { Admission, PreparedWrite } from './writes.js';

/** What the standard methods need. */
export interface ResourceOptions {
  readonly store: ObjectStore;
  readonly admission: Admission;
  readonly authorizer: AccessControl;
  readonly planner: WritePlanner;
  /** The kind that `ensureNamespace` makes objects of, if there is one. */
  readonly namespaces: ServedKind | undefined;
  readonly clock: Clock;
  readonly objectAccess?: ObjectAccess | undefined;
}

/** Objects whose shown form is remembered. */
const recentMax = 1_024;
/** A write judged against a version that changed meanwhile is judged again, this often. */
const triesMax = 8;

/** Namespace of a request: `-` means all, empty means `default`. */
export function requestNamespace(kind: AnyKind, request: JsonObject): string | undefined {
  if (kind.scope === 'Cluster') return undefined;
  const namespace = textOf(request, 'namespace');
  return namespace === '' ? 'default' : namespace;
}

/** Get, List, Create, Update, UpdateStatus, Delete and Watch for every kind, from its declaration alone. */
export class Resources {
  readonly #options: ResourceOptions;
  readonly #recent = new RecentCache<ApiObject, JsonObject>(recentMax);

  constructor(options: ResourceOptions) {
    this.#options = options;
  }

  /** As {@link show}, remembered: what many ask for or watch is shown once. */
  #seen(served: ServedKind, object: ApiObject): JsonObject {
    return this.#recent.of(object, () => this.show(served, object));
  }

  /** The object as this caller may see it. */
  show(served: ServedKind, object: ApiObject, reveal = false): JsonObject {
    const visible = served.rules.present?.(object, reveal) ?? object;
    return present(this.#options.admission.message(served), fieldsOf(visible));
  }

  async unary(
    verb: Exclude<StandardVerb, 'Watch'>,
    served: ServedKind,
    context: CallContext,
    request: JsonObject,
  ): Promise<JsonObject> {
    switch (verb) {
      case 'Get':
        return this.#get(served, context, request);
      case 'List':
        return this.#list(served, context, request);
      case 'Create':
        return this.#create(served, context, request);
      case 'Update':
        return this.#update(served, context, request);
      case 'UpdateStatus':
        return this.#updateStatus(served, context, request);
      case 'Delete':
        return this.#delete(served, context, request);
    }
  }

  watch(served: ServedKind, context: CallContext, request: JsonObject): AsyncIterable<JsonObject> {
    const tell = ({ type, object }: WatchEvent<ApiObject>): JsonObject => ({
      type,
      object: this.#seen(served, object),
    });
    return this.#watch(served, context, request, tell);
  }

  #watch(
    served: ServedKind,
    context: CallContext,
    request: JsonObject,
    tell: (event: WatchEvent<ApiObject>) => JsonObject,
    withPrevious = false,
  ): AsyncIterable<JsonObject> {
    const namespace = requestNamespace(served.kind, request);
    const filter = this.#options.objectAccess?.filterFor(context.identity);
    const { plural } = served.kind;
    return watchResource(this.#options.store, served.kind, {
      namespace: namespace === '-' ? undefined : namespace,
      resourceVersion: textOf(request, 'resourceVersion'),
      selector: selectorOf(request),
      fields: this.#fieldsOf(served, request),
      visible: filter && ((object) => filter.allows(plural, 'watch', object)),
      withPrevious,
      signal: context.signal,
      tell,
    });
  }

  /** As {@link watch}, with objects as JSON text, and the states before where they are asked for. */
  async *watchObjects(
    served: ServedKind,
    context: CallContext,
    request: JsonObject,
  ): AsyncIterable<JsonObject> {
    const text = (object: ApiObject): string => JSON.stringify(this.#seen(served, object));
    const withPrevious = request.previous === true;
    const tell = (event: WatchEvent<ApiObject>): JsonObject => {
      const previous = withPrevious && event.type !== 'ADDED' ? event.previous : undefined;
      return {
        type: event.type,
        object: text(event.object),
        ...(previous ? { previous: text(previous) } : {}),
        revision: String(event.revision),
      };
    };
    const asked = { ...request, resourceVersion: textOf(request, 'cursor') };
    for await (const answer of this.#watch(served, context, asked, tell, withPrevious))
      yield { events: answer.events, cursor: answer.resourceVersion };
  }

  /** An update of some fields, through the same rules as a PUT of the whole object. */
  change(
    served: ServedKind,
    context: CallContext,
    object: ApiObject,
    fields: JsonObject,
  ): Promise<JsonObject> {
    const { namespace, name } = object;
    // Without a version: the change is wanted whatever a controller wrote meanwhile.
    const body = { ...this.show(served, object), ...fields, metadata: {} };
    return this.#update(served, context, { namespace, name, [bodyField(served.kind)]: body });
  }

  /**
   * Judges what the caller would be shown, never what is stored beside it: a selector must not tell
   * by its answers what a mask hides.
   */
  #fieldsOf(served: ServedKind, request: JsonObject): FieldSelector | undefined {
    const text = textOf(request, 'fieldSelector');
    if (text === '') return undefined;
    const fields = parseFieldSelector(text);
    demandKnownPaths(served.kind, this.#options.admission.message(served), fields.paths ?? []);
    return withText((object: ApiObject) => fields(asObject(this.show(served, object))), text);
  }

  #key(served: ServedKind, request: JsonObject): ObjectKey {
    const namespace = requestNamespace(served.kind, request);
    return keyFor(served.kind, namespace, textOf(request, 'name'));
  }

  async #get(served: ServedKind, context: CallContext, request: JsonObject): Promise<JsonObject> {
    const reveal = request.reveal === true;
    if (reveal)
      await this.#options.authorizer.demand(context.identity, {
        resource: served.kind.plural,
        verb: 'reveal',
        namespace: requestNamespace(served.kind, request),
      });
    const object = await this.#options.planner.require(served, this.#key(served, request));
    const verb = reveal ? 'reveal' : 'get';
    await this.#options.planner.demand(context, served.kind.plural, verb, object);
    return reveal ? this.show(served, object, true) : this.#seen(served, object);
  }

  async #list(served: ServedKind, context: CallContext, request: JsonObject): Promise<JsonObject> {
    const limit = typeof request.limit === 'number' ? request.limit : 0;
    if (limit < 0)
      throw invalid([{ field: 'limit', description: `${limit} is below 0; leave it out for all` }]);
    const namespace = requestNamespace(served.kind, request);
    const pageToken = textOf(request, 'pageToken');
    const labels = selectorOf(request);
    const fields = this.#fieldsOf(served, request);
    const filter = this.#options.objectAccess?.filterFor(context.identity);
    const selection = indexSelection(request);
    // The right to the list itself was judged with the call.
    const [, ...further] = accessesByIndex(served, selection, namespace === '-' ? '*' : namespace);
    for (const access of further) await this.#options.authorizer.demand(context.identity, access);
    return listResource(this.#options.store, served.kind, {
      ...selection,
      ...(labels ? { labels } : {}),
      ...(fields ? { fields } : {}),
      ...(namespace === undefined || namespace === '-' ? {} : { namespace }),
      ...(limit > 0 ? { limit } : {}),
      ...(context.transport === 'grpc' ? { pageBytes: pageBytesOf(request) } : {}),
      ...(pageToken === '' ? {} : { pageToken }),
      caller: listCaller(context.identity),
      visible: filter && ((object) => filter.allows(served.kind.plural, 'list', object)),
      show: (object) => this.show(served, object),
      clock: this.#options.clock,
    });
  }

  async #write(
    served: ServedKind,
    context: CallContext,
    request: JsonObject,
    mode: 'create' | 'update',
  ): Promise<JsonObject> {
    const { store } = this.#options;
    const body = request[bodyField(served.kind)];
    const object = isJsonObject(body) ? body : {};
    const given = isJsonObject(object.metadata) ? object.metadata.resourceVersion : undefined;
    const versioned = mode === 'update' && typeof given === 'string' && given !== '';
    const name = mode === 'update' ? textOf(request, 'name') : undefined;
    const namespace = requestNamespace(served.kind, request);
    for (let tries = 1; ; tries += 1) {
      const asked = { served, namespace, name, object, mode };
      const write = await this.#options.planner.write(context, asked);
      if (request.dryRun === true) {
        demandExpected(write);
        return this.show(served, dryRunObject(write));
      }
      try {
        const [result] = await store.transact([write.operation]);
        return this.show(served, result?.object ?? write.object);
      } catch (error) {
        // Without a version the caller wants the last word: judge again against what is stored now.
        if (versioned || !hasCode(error, 'Aborted') || tries >= triesMax) throw error;
        await store.transact([]);
      }
    }
  }

  async #create(
    served: ServedKind,
    context: CallContext,
    request: JsonObject,
  ): Promise<JsonObject> {
    const namespace = requestNamespace(served.kind, request);
    if (request.ensureNamespace === true && namespace !== undefined) {
      await this.#options.authorizer.demand(context.identity, {
        resource: 'namespaces',
        verb: 'create',
        namespace: undefined,
      });
      await this.#ensureNamespace(context, namespace, request.dryRun === true);
    }
    return this.#write(served, context, request, 'create');
  }

  /** Through the same rules as any other namespace; that it exists already is fine. */
  async #ensureNamespace(context: CallContext, name: string, dryRun: boolean): Promise<void> {
    const { namespaces } = this.#options;
    if (!namespaces) return;
    try {
      await this.#write(namespaces, context, { namespace: { name }, dryRun }, 'create');
    } catch (error) {
      if (!hasCode(error, 'AlreadyExists')) throw error;
    }
  }

  #update(served: ServedKind, context: CallContext, request: JsonObject): Promise<JsonObject> {
    return this.#write(served, context, request, 'update');
  }

  async #updateStatus(
    served: ServedKind,
    context: CallContext,
    request: JsonObject,
  ): Promise<JsonObject> {
    const body = request[bodyField(served.kind)];
    const given = isJsonObject(body) ? body : {};
    const key = this.#key(served, request);
    const mask = textOf(request, 'updateMask')
      .split(',')
      .filter((name) => name !== '');
    const { status } = await this.#options.planner.status(context, served, key, given, mask);
    const metadata = isJsonObject(given.metadata) ? given.metadata : {};
    const resourceVersion = demandObjectVersion(textOf(metadata, 'resourceVersion'));
    const uid = textOf(metadata, 'uid');
    const kind = served.kind;
    const precondition = {
      ...(resourceVersion === '' ? {} : { resourceVersion }),
      ...(uid === '' ? {} : { uid }),
    };
    const stored = await this.#options.store.updateStatus(kind, key, status, precondition);
    return this.show(served, stored);
  }

  async #delete(
    served: ServedKind,
    context: CallContext,
    request: JsonObject,
  ): Promise<JsonObject> {
    const { store } = this.#options;
    const guard = (object: ApiObject): void =>
      demandStored(served.kind, object, {
        uid: textOf(request, 'uid'),
        resourceVersion: textOf(request, 'resourceVersion'),
      });
    const key = this.#key(served, request);
    for (let tries = 1; ; tries += 1) {
      const object = await this.#options.planner.deletion(context, served, key, guard, request);
      if (request.dryRun === true) return this.show(served, object);
      const { resourceVersion } = object.metadata;
      try {
        const kind = served.kind;
        const gone = await store.delete(kind, object, { resourceVersion });
        return this.show(served, gone);
      } catch (error) {
        // The deletion was judged against a state that changed meanwhile: judge again.
        if (!hasCode(error, 'Aborted') || tries >= triesMax) throw error;
        await store.transact([]);
      }
    }
  }
}

/** What one message may hold; the object service may ask for less. */
function pageBytesOf({ pageBytes }: JsonObject): number {
  const asked = typeof pageBytes === 'number' && pageBytes > 0 ? pageBytes : Infinity;
  return Math.min(asked, limits.listMessageBytes);
}

/** Undefined for none: then no object has to be looked at. */
function selectorOf(request: JsonObject): LabelSelector | undefined {
  const text = textOf(request, 'labelSelector');
  return text === '' ? undefined : parseLabelSelector(text);
}

function dryRunObject(write: PreparedWrite): ApiObject {
  const metadata = write.before?.metadata ?? {};
  return { ...write.object, metadata } as ApiObject;
}
