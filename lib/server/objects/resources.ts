import { hasCode } from '../../base/index.js';
import { after } from '../../base/promises/later.js';
import type { ApiObject, ObjectKey } from '../../object/index.js';
import {
  bodyField,
  isJsonObject,
  type JsonObject,
  type StandardVerb,
  textOf,
} from '../../rpc/index.js';
import type { AdmissionContext } from '../api/admission-rules.js';
import type { ServedKind } from '../api/served-kind.js';
import type { CallContext } from '../api/call.js';
import { expectedBy, requireExpected, requireStored } from '../admission/expected-object.js';
import { requestKey, requestNamespace } from './request-key.js';
import { type ResourceReadsOptions, ResourceReads } from './resource-reads.js';
import type { ValidatedWrites, Verdict } from '../admission/validated-writes.js';
import type { PreparedWrite } from '../admission/write-request.js';

/** Dependencies of the standard methods. */
export interface ResourceOptions extends ResourceReadsOptions {
  readonly writes: ValidatedWrites;
  /** The kind of the objects that `ensureNamespace` creates, if any. */
  readonly namespaces: ServedKind | undefined;
}

/** A creation whose object depends on other objects. */
export interface ComposedCreation {
  readonly namespace: string | undefined;
  readonly dryRun: boolean;
  /** Returns the object as a client would send it. */
  compose(context: AdmissionContext): Promise<JsonObject>;
}

/** Get, List, Create, Update, UpdateStatus, Delete and Watch for every served kind. */
export class Resources {
  readonly #options: ResourceOptions;
  readonly #reads: ResourceReads;

  constructor(options: ResourceOptions) {
    this.#options = options;
    this.#reads = new ResourceReads(options);
  }

  /** Converts an object to the form of the API, with its hidden values if `reveal` is set. Does not check rights. */
  show(served: ServedKind, object: ApiObject, reveal = false): JsonObject {
    return this.#reads.show(served, object, reveal);
  }

  /** Yields the answers of a Watch method; see {@link watchResource}. */
  watch(served: ServedKind, context: CallContext, request: JsonObject): AsyncIterable<JsonObject> {
    return this.#reads.watch(served, context, request);
  }

  /** Like {@link watch}, with objects as JSON text, and previous states if requested. */
  watchObjects(
    served: ServedKind,
    context: CallContext,
    request: JsonObject,
  ): AsyncIterable<JsonObject> {
    return this.#reads.watchObjects(served, context, request);
  }

  /** A list whose items are in the form of the API, for any encoder. */
  list(served: ServedKind, context: CallContext, request: JsonObject): Promise<JsonObject> {
    return this.#reads.list(served, context, request, false);
  }

  /**
   * The answer of a method of the kind's service, in the form that the transport of the call takes: over gRPC, a list keeps its items as they are stored.
   * @throws StatusError of the read or the write
   */
  unary(
    verb: Exclude<StandardVerb, 'Watch'>,
    served: ServedKind,
    context: CallContext,
    request: JsonObject,
  ): Promise<JsonObject> {
    switch (verb) {
      case 'Get':
        return this.#reads.get(served, context, request);
      case 'List':
        return this.#reads.list(served, context, request, context.transport === 'grpc');
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

  /**
   * Updates some fields, by the same rules as a PUT of the whole object.
   * @param fields returns the changed fields of the stored object; undefined for no change. It is called again if the
   * object was changed meanwhile, so that no other change is lost.
   * @throws StatusError NotFound, and those of any update
   */
  change<T extends ApiObject>(
    served: ServedKind,
    context: CallContext,
    key: ObjectKey,
    fields: (object: T) => JsonObject | undefined,
  ): Promise<JsonObject> {
    const { planner, writes } = this.#options;
    return writes.run(context, async (validation): Promise<Verdict<JsonObject>> => {
      const stored = await planner.require(served, key, validation);
      const changed = fields(stored as T);
      if (!changed) return { type: 'answer', answer: this.show(served, stored) };
      const object = { ...this.show(served, stored), ...changed, metadata: {} };
      const asked = { served, namespace: key.namespace, name: key.name, object };
      const write = await planner.write(context, { ...asked, mode: 'update' }, validation);
      return this.#verdict(served, write, false);
    });
  }

  /**
   * Creates the object that `compose` returns; `compose` runs again if its reads changed meanwhile.
   * @throws StatusError errors of `compose`, and those of any creation
   */
  createFrom(
    served: ServedKind,
    context: CallContext,
    creation: ComposedCreation,
  ): Promise<JsonObject> {
    const { planner, writes } = this.#options;
    const { namespace, dryRun } = creation;
    return writes.run(context, async (validation): Promise<Verdict<JsonObject>> => {
      const object = await creation.compose(validation);
      const asked = { served, namespace, name: undefined, object, mode: 'create' } as const;
      const write = await planner.write(context, asked, validation);
      return this.#verdict(served, write, dryRun);
    });
  }

  #verdict(served: ServedKind, write: PreparedWrite, dryRun: boolean): Verdict<JsonObject> {
    requireExpected(write);
    if (dryRun) return { type: 'answer', answer: this.show(served, dryRunObject(write)) };
    return {
      type: 'commit',
      operations: [write.operation],
      answer: ([result]) => this.show(served, result?.object ?? write.object),
    };
  }

  #write(
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
    const guard = (stored: ApiObject): void =>
      requireStored(served.kind, stored, expectedBy(object));
    return writes.run(context, (validation) =>
      after(planner.write(context, asked, validation, guard), (write) =>
        this.#verdict(served, write, request.dryRun === true),
      ),
    );
  }

  #create(served: ServedKind, context: CallContext, request: JsonObject): Promise<JsonObject> {
    const namespace = requestNamespace(served.kind, request);
    const { namespaces } = this.#options;
    const ensures = request.ensureNamespace === true && namespace !== undefined && namespaces;
    if (!ensures) return this.#write(served, context, request, 'create');
    return this.#createWithNamespace(served, context, request, namespaces, namespace);
  }

  async #createWithNamespace(
    served: ServedKind,
    context: CallContext,
    request: JsonObject,
    namespaces: ServedKind,
    namespace: string,
  ): Promise<JsonObject> {
    await this.#options.authorizer.require(context.identity, {
      resource: namespaces.kind.plural,
      verb: 'create',
      namespace: undefined,
    });
    await this.#ensureNamespace(namespaces, context, namespace, request.dryRun === true);
    return this.#write(served, context, request, 'create');
  }

  /** Creates a namespace by the rules of any other namespace. An existing one is not an error. */
  async #ensureNamespace(
    namespaces: ServedKind,
    context: CallContext,
    name: string,
    dryRun: boolean,
  ): Promise<void> {
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
    const key = requestKey(served, request);
    const mask = textOf(request, 'updateMask')
      .split(',')
      .filter((name) => name !== '');
    const asked = expectedBy(given);
    const { planner, writes } = this.#options;
    return writes.run(context, async (validation): Promise<Verdict<JsonObject>> => {
      const guard = (stored: ApiObject): void => requireStored(served.kind, stored, asked);
      const planned = await planner.status(context, served, key, given, mask, validation, guard);
      const { current, status } = planned;
      const { uid, resourceVersion } = current.metadata;
      // The rights of a restricted caller depend on the whole object, so the object must be unchanged.
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
      requireStored(served.kind, object, {
        uid: textOf(request, 'uid'),
        resourceVersion: textOf(request, 'resourceVersion'),
      });
    const { kind } = served;
    const key = requestKey(served, request);
    return writes.run(context, async (validation): Promise<Verdict<JsonObject>> => {
      const object = await planner.deletion(context, served, key, guard, request, validation);
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

function dryRunObject(write: PreparedWrite): ApiObject {
  const metadata = write.before?.metadata ?? {};
  return { ...write.object, metadata } as ApiObject;
}
