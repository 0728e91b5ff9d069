import { type Clock, invalid, limits, notFound } from '../../base/index.js';
import {
  asObject,
  fieldsOf,
  type ApiObject,
  type LabelSelector,
  type FieldSelector,
  type WatchEvent,
  parseFieldSelector,
  parseLabelSelector,
  withText,
} from '../../object/index.js';
import { type JsonObject, present, textOf } from '../../rpc/index.js';
import type { ObjectStore } from '../../store/index.js';
import type { ServedKind } from '../api/served-kind.js';
import type { AccessControl } from '../auth/index.js';
import type { CallContext } from '../api/call.js';
import { withStoredItems } from '../api/stored-items.js';
import { requireKnownPaths } from '../schema/field-paths.js';
import type { ObjectAccess } from '../api/object-access.js';
import { accessesByIndex, indexSelection } from './kind-check-operations.js';
import { RecentCache, roughBytes } from './recent-cache.js';
import { listCaller, listResource } from './resource-list.js';
import { watchResource } from './resource-watch.js';
import { SharedAnswers } from './shared-answers.js';
import type { WritePlanner } from '../admission/write-planner.js';
import type { Admission } from '../admission/admission.js';
import { requestKey, requestNamespace } from './request-key.js';

/** Dependencies of {@link ResourceReads}. */
export interface ResourceReadsOptions {
  readonly store: ObjectStore;
  readonly admission: Admission;
  readonly authorizer: AccessControl;
  readonly planner: WritePlanner;
  readonly clock: Clock;
  readonly objectAccess?: ObjectAccess | undefined;
}

/**
 * The forms of an event in answers: of the kind's own service, for gRPC with objects as they are stored, and of
 * ObjectService.
 */
type EventForm = 'message' | 'stored' | 'text' | 'text with previous';

/** Maximum number of objects whose form of the API is cached, and their approximate bytes: they may be replaced. */
const recentMax = 1_024;
const recentBytesMax = 33_554_432;

/** Get, List and Watch for every kind. */
export class ResourceReads {
  readonly #options: ResourceReadsOptions;
  readonly #recent = new RecentCache<ApiObject, JsonObject>(recentMax, {
    of: (_, object) => roughBytes(object),
    max: recentBytesMax,
  });
  /** The shared answers of each served kind, by the form of its events. */
  readonly #shared = new WeakMap<ServedKind, Map<EventForm, SharedAnswers>>();

  constructor(options: ResourceReadsOptions) {
    this.#options = options;
  }

  /** Like {@link show}, with a cache: an object is converted once for all its readers. */
  #seen(served: ServedKind, object: ApiObject): JsonObject {
    return this.#recent.of(object, () => this.show(served, object));
  }

  /** The object in the form of the API, with its hidden values if `reveal` is set. It does not check rights. */
  show(served: ServedKind, object: ApiObject, reveal = false): JsonObject {
    return present(this.#options.admission.message(served), stored(served, object, reveal));
  }

  #sharedOf(served: ServedKind, form: EventForm): SharedAnswers {
    let forms = this.#shared.get(served);
    if (!forms) this.#shared.set(served, (forms = new Map<EventForm, SharedAnswers>()));
    let shared = forms.get(form);
    if (!shared) forms.set(form, (shared = new SharedAnswers()));
    return shared;
  }

  /** The answers of a Watch method; see {@link watchResource}. */
  watch(served: ServedKind, context: CallContext, request: JsonObject): AsyncIterable<JsonObject> {
    const form = context.transport === 'grpc' ? 'stored' : 'message';
    const convert = ({ type, object }: WatchEvent<ApiObject>): JsonObject => ({
      type,
      object: form === 'stored' ? stored(served, object, false) : this.#seen(served, object),
    });
    return this.#watch(served, context, request, form, convert);
  }

  #watch(
    served: ServedKind,
    context: CallContext,
    request: JsonObject,
    form: EventForm,
    convert: (event: WatchEvent<ApiObject>) => JsonObject,
  ): AsyncIterable<JsonObject> {
    const namespace = requestNamespace(served.kind, request);
    const filter = this.#options.objectAccess?.filterFor(context.identity);
    const { plural } = served.kind;
    return watchResource(this.#options.store, served.kind, {
      namespace: namespace === '-' ? undefined : namespace,
      resourceVersion: textOf(request, 'resourceVersion'),
      selector: selectorOf(request),
      fields: this.#fieldsOf(served, request, (object) => this.#seen(served, object)),
      visible: filter && ((object) => filter.allows(plural, 'watch', object)),
      withPrevious: form === 'text with previous',
      signal: context.signal,
      convert,
      cursorField: form === 'message' || form === 'stored' ? 'resourceVersion' : 'cursor',
      shared: this.#sharedOf(served, form),
    });
  }

  /** Like {@link watch}, with objects as JSON text, and previous states if requested. */
  watchObjects(
    served: ServedKind,
    context: CallContext,
    request: JsonObject,
  ): AsyncIterable<JsonObject> {
    const text = (object: ApiObject): string => JSON.stringify(this.#seen(served, object));
    const withPrevious = request.previous === true;
    const convert = (event: WatchEvent<ApiObject>): JsonObject => {
      const previous = withPrevious && event.type !== 'ADDED' ? event.previous : undefined;
      return {
        type: event.type,
        object: text(event.object),
        ...(previous ? { previous: text(previous) } : {}),
        revision: String(event.revision),
      };
    };
    const asked = { ...request, resourceVersion: textOf(request, 'cursor') };
    return this.#watch(
      served,
      context,
      asked,
      withPrevious ? 'text with previous' : 'text',
      convert,
    );
  }

  /** The answer of a Get method. @throws StatusError NotFound, PermissionDenied */
  async get(served: ServedKind, context: CallContext, request: JsonObject): Promise<JsonObject> {
    const reveal = request.reveal === true;
    if (reveal)
      await this.#options.authorizer.require(context.identity, {
        resource: served.kind.plural,
        verb: 'reveal',
        namespace: requestNamespace(served.kind, request),
      });
    const key = requestKey(served, request);
    const object = await this.#options.store.get(served.kind, key);
    if (!object) throw notFound({ kind: served.kind.kind, ...key });
    const verb = reveal ? 'reveal' : 'get';
    await this.#options.planner.requireAccess(context, served.kind.plural, verb, object);
    return reveal ? this.show(served, object, true) : this.#seen(served, object);
  }

  /**
   * The answer of a List method.
   * @param asStored whether items keep the form of the store; see {@link hasStoredItems}
   * @throws StatusError InvalidArgument for an invalid limit, selector or page token; PermissionDenied for an index
   * without the right to its values
   */
  async list(
    served: ServedKind,
    context: CallContext,
    request: JsonObject,
    asStored: boolean,
  ): Promise<JsonObject> {
    const limit = typeof request.limit === 'number' ? request.limit : 0;
    if (limit < 0)
      throw invalid([
        { field: 'limit', description: `${limit} is below 0; omit it for all objects` },
      ]);
    const namespace = requestNamespace(served.kind, request);
    const pageToken = textOf(request, 'pageToken');
    const labels = selectorOf(request);
    // Without the cache: a list reads each object once, and would evict what watchers and readers share.
    const fields = this.#fieldsOf(served, request, (object) => this.show(served, object));
    const filter = this.#options.objectAccess?.filterFor(context.identity);
    const selection = indexSelection(request);
    // The right to the list itself was checked with the call.
    const [, ...further] = accessesByIndex(served, selection, namespace === '-' ? '*' : namespace);
    for (const access of further) await this.#options.authorizer.require(context.identity, access);
    const list = await listResource(this.#options.store, served.kind, {
      ...selection,
      ...(labels ? { labels } : {}),
      ...(fields ? { fields } : {}),
      ...(namespace === undefined || namespace === '-' ? {} : { namespace }),
      ...(limit > 0 ? { limit } : {}),
      ...(context.transport === 'grpc' ? { pageBytes: pageBytesOf(request) } : {}),
      ...(pageToken === '' ? {} : { pageToken }),
      caller: listCaller(context.identity),
      visible: filter && ((object) => filter.allows(served.kind.plural, 'list', object)),
      show: (object) => (asStored ? stored(served, object, false) : this.show(served, object)),
      clock: this.#options.clock,
    });
    return asStored ? withStoredItems(list) : list;
  }

  /**
   * The field selector of a request, if any. It selects by the form that the caller sees, never by hidden values: the
   * answers would disclose them.
   * @param form converts an object to that form
   * @throws StatusError InvalidArgument for an invalid selector or an unknown field
   */
  #fieldsOf(
    served: ServedKind,
    request: JsonObject,
    form: (object: ApiObject) => JsonObject,
  ): FieldSelector | undefined {
    const text = textOf(request, 'fieldSelector');
    if (text === '') return undefined;
    const fields = parseFieldSelector(text);
    requireKnownPaths(served.kind, this.#options.admission.message(served), fields.paths ?? []);
    return withText((object: ApiObject) => fields(asObject(form(object))), text);
  }
}

/** The fields of an object that this caller may see, in the form of the store. */
function stored(served: ServedKind, object: ApiObject, reveal: boolean): JsonObject {
  return fieldsOf(served.rules.present?.(object, reveal) ?? object);
}

/** Maximum bytes of a page in one message; ObjectService may request less. */
function pageBytesOf({ pageBytes }: JsonObject): number {
  const asked = typeof pageBytes === 'number' && pageBytes > 0 ? pageBytes : Infinity;
  return Math.min(asked, limits.listMessageBytes);
}

/** The label selector of a request; undefined if it has none: then no labels need to be read. */
function selectorOf(request: JsonObject): LabelSelector | undefined {
  const text = textOf(request, 'labelSelector');
  return text === '' ? undefined : parseLabelSelector(text);
}
