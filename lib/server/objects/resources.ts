import { type Clock, hasCode, invalid, limits, notFound } from '../../base/index.js';
import {
  asObject,
  fieldsOf,
  type AnyKind,
  type ApiObject,
  keyFor,
  type ObjectKey,
  type LabelSelector,
  type FieldSelector,
  type WatchEvent,
  parseFieldSelector,
  parseLabelSelector,
  withText,
} from '../../object/index.js';
import {
  bodyField,
  isJsonObject,
  type JsonObject,
  present,
  type StandardVerb,
  textOf,
} from '../../rpc/index.js';
import type { ObjectStore } from '../../store/index.js';
import type { AdmissionContext } from '../api/admission-rules.js';
import type { ServedKind } from '../api/served-kind.js';
import type { AccessControl } from '../auth/index.js';
import type { CallContext } from '../api/call.js';
import { demandExpected, demandStored, expectedBy } from '../admission/expected-object.js';
import { demandKnownPaths } from '../schema/field-paths.js';
import type { JudgedWrites, Verdict } from '../admission/judged-writes.js';
import type { ObjectAccess } from '../api/object-access.js';
import { accessesByIndex, indexSelection } from './kind-check-operations.js';
import { RecentCache } from './recent-cache.js';
import { listCaller, listResource } from './resource-list.js';
import { watchResource } from './resource-watch.js';
import type { WritePlanner } from '../admission/write-planner.js';
import type { Admission, PreparedWrite } from '../admission/admission.js';

/** What the standard methods need. */
export interface ResourceOptions {
  readonly store: ObjectStore;
  readonly admission: Admission;
  readonly authorizer: AccessControl;
  readonly planner: WritePlanner;
  readonly writes: JudgedWrites;
  /** The kind that `ensureNamespace` makes objects of, if there is one. */
  readonly namespaces: ServedKind | undefined;
  readonly clock: Clock;
  readonly objectAccess?: ObjectAccess | undefined;
}

/** A creation whose object is made of others. */
export interface ComposedCreation {
  readonly namespace: string | undefined;
  readonly dryRun: boolean;
  /** The object as a client would send it. */
  compose(context: AdmissionContext): Promise<JsonObject>;
}

/** Objects whose shown form is remembered. */
const recentMax = 1_024;

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

  /**
   * An update of some fields, through the same rules as a PUT of the whole object.
   * @param fields of the object as it is stored; undefined for no change. Asked again when the object
   * was changed meanwhile, so that no other change is lost.
   * @throws StatusError NotFound
   */
  change<T extends ApiObject>(
    served: ServedKind,
    context: CallContext,
    key: ObjectKey,
    fields: (object: T) => JsonObject | undefined,
  ): Promise<JsonObject> {
    const { planner, writes } = this.#options;
    return writes.run(context, async (judgement): Promise<Verdict<JsonObject>> => {
      const stored = await planner.require(served, key, judgement);
      const changed = fields(stored as T);
      if (!changed) return { type: 'answer', answer: this.show(served, stored) };
      const object = { ...this.show(served, stored), ...changed, metadata: {} };
      const asked = { served, namespace: key.namespace, name: key.name, object };
      const write = await planner.write(context, { ...asked, mode: 'update' }, judgement);
      return this.#verdict(served, write, false);
    });
  }

  /**
   * A creation of what `compose` makes of what it looks at; asked again when that changed meanwhile.
   * @throws StatusError what `compose` throws, and what any creation is refused with
   */
  createFrom(
    served: ServedKind,
    context: CallContext,
    creation: ComposedCreation,
  ): Promise<JsonObject> {
    const { planner, writes } = this.#options;
    const { namespace, dryRun } = creation;
    return writes.run(context, async (judgement): Promise<Verdict<JsonObject>> => {
      const object = await creation.compose(judgement);
      const asked = { served, namespace, name: undefined, object, mode: 'create' } as const;
      const write = await planner.write(context, asked, judgement);
      return this.#verdict(served, write, dryRun);
    });
  }

  #verdict(served: ServedKind, write: PreparedWrite, dryRun: boolean): Verdict<JsonObject> {
    demandExpected(write);
    if (dryRun) return { type: 'answer', answer: this.show(served, dryRunObject(write)) };
    return {
      type: 'commit',
      operations: [write.operation],
      answer: ([result]) => this.show(served, result?.object ?? write.object),
    };
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
    const key = this.#key(served, request);
    const object = await this.#options.store.get(served.kind, key);
    if (!object) throw notFound({ kind: served.kind.kind, ...key });
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
    const { planner, writes } = this.#options;
    const body = request[bodyField(served.kind)];
    const object = isJsonObject(body) ? body : {};
    const name = mode === 'update' ? textOf(request, 'name') : undefined;
    const namespace = requestNamespace(served.kind, request);
    const asked = { served, namespace, name, object, mode };
    return writes.run(context, async (judgement) => {
      const write = await planner.write(context, asked, judgement);
      return this.#verdict(served, write, request.dryRun === true);
    });
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
    const asked = expectedBy(given);
    const { planner, writes } = this.#options;
    return writes.run(context, async (judgement): Promise<Verdict<JsonObject>> => {
      const planned = await planner.status(context, served, key, given, mask, judgement);
      const { current, status } = planned;
      demandStored(served.kind, current, asked);
      const { uid, resourceVersion } = current.metadata;
      // What a narrowed caller may change goes by the whole object, so that must be the same.
      const pinned = asked.resourceVersion !== '' || planner.narrows(context);
      const precondition = pinned ? { uid, resourceVersion } : { uid };
      return {
        type: 'commit',
        operations: [{ op: 'updateStatus', kind: served.kind, key, status, precondition }],
        answer: ([result]) => this.show(served, result?.object ?? current),
      };
    });
  }

  async #delete(
    served: ServedKind,
    context: CallContext,
    request: JsonObject,
  ): Promise<JsonObject> {
    const { planner, writes } = this.#options;
    const guard = (object: ApiObject): void =>
      demandStored(served.kind, object, {
        uid: textOf(request, 'uid'),
        resourceVersion: textOf(request, 'resourceVersion'),
      });
    const { kind } = served;
    const key = this.#key(served, request);
    return writes.run(context, async (judgement): Promise<Verdict<JsonObject>> => {
      const object = await planner.deletion(context, served, key, guard, request, judgement);
      if (request.dryRun === true) return { type: 'answer', answer: this.show(served, object) };
      const { uid, resourceVersion } = object.metadata;
      return {
        type: 'commit',
        operations: [{ op: 'delete', kind, key, precondition: { uid, resourceVersion } }],
        answer: ([result]) => this.show(served, result?.object ?? object),
      };
    });
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
