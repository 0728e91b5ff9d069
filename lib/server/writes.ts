import { type FieldViolation, invalid, notFound, StatusError } from '../base/index.js';
import {
  asObject,
  fieldsOf,
  type AnyKind,
  type ApiObject,
  demandObjectVersion,
  jsonEqual,
  keyFor,
  type Kind,
  keyString,
  type NewObject,
  type ObjectKey,
  type ObjectMeta,
  valueAt,
} from '../object/index.js';
import {
  type DescMessage,
  isJsonObject,
  type JsonObject,
  type SchemaRegistry,
  textOf,
} from '../rpc/index.js';
import type { ObjectStore, Operation } from '../store/index.js';
import type { AdmissionContext, ServedKind } from './admission.js';
import type { AccessControl, Identity } from './auth/index.js';
import type { InputSchemas } from './input.js';
import type { ObjectAccess } from './object-access.js';

/** A write that a client asks for. */
export interface WriteRequest {
  readonly served: ServedKind;
  readonly namespace: string | undefined;
  /** From the path; undefined where only the body names the object. */
  readonly name: string | undefined;
  readonly object: JsonObject;
  readonly mode: 'create' | 'update' | 'createOrUpdate';
}

/** A write that passed admission. */
export interface PreparedWrite {
  readonly kind: AnyKind;
  readonly key: ObjectKey;
  readonly object: ApiObject;
  readonly before: ApiObject | undefined;
  readonly operation: Operation;
  /** False when an update would change nothing. */
  readonly changes: boolean;
}

/** What admission needs to know about the installation. */
export interface AdmissionOptions {
  readonly store: ObjectStore;
  readonly authorizer: AccessControl;
  readonly objectAccess: ObjectAccess | undefined;
  readonly schemas: SchemaRegistry;
  readonly inputs: InputSchemas;
  readonly served: ReadonlyMap<string, ServedKind>;
  /** Where the messages of kinds are that the API itself does not declare. */
  readonly base: SchemaRegistry;
  /** The kind that namespaced objects must find their namespace in. */
  readonly namespaceKind: string;
}

/** Objects as the operations before leave them, by {@link stagedId}; undefined for one that is gone. */
export type Staged = ReadonlyMap<string, ApiObject | undefined>;

/** The key of an object in {@link Staged}. */
export function stagedId(kind: AnyKind, key: ObjectKey): string {
  return `${kind.kind} ${keyString(key)}`;
}

/** The one admission chain: shape, defaults, rules; for one object or a set judged together. */
export class Admission {
  readonly #options: AdmissionOptions;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  message(served: ServedKind): DescMessage {
    const { schemas, base } = this.#options;
    return schemas.registry.getMessage(served.message) ?? base.message(served.message);
  }

  /**
   * The status fields of an object that a controller sends, those its message has. A declared kind's
   * field that `mask` names and the object lacks is emptied: protobuf does not carry empty values.
   * @throws StatusError InvalidArgument when they do not fit the message.
   */
  statusOf(served: ServedKind, object: JsonObject, mask: readonly string[] = []): JsonObject {
    const message = this.message(served);
    const { statusFields, declaration } = served.kind;
    const named = message.fields.map((field) => field.jsonName);
    const names = statusFields.filter((name) => named.includes(name));
    const { schemas, inputs } = this.#options;
    const given = declaration ? inputs.cleanStatus(message, object) : object;
    const status = Object.fromEntries(
      names.filter((name) => name in given).map((name) => [name, given[name]]),
    );
    if (declaration) {
      const found = [
        ...mask
          .filter((name) => !names.includes(name))
          .map((name) => ({ field: 'updateMask', description: `${name} is no status field` })),
        ...inputs.statusViolations(message, names, status),
      ];
      if (found.length > 0) throw invalid(found);
      const emptied: readonly (readonly [string, unknown])[] = mask
        .filter((name) => !(name in status))
        .map((name) => [name, undefined]);
      return declaration.completeGiven({ ...Object.fromEntries(emptied), ...status });
    }
    const problem = schemas.problem(message, status);
    if (problem !== undefined) throw invalid([{ field: 'status', description: problem }]);
    return status;
  }

  /** For rules that run outside a write; `staged` is what operations before it leave. */
  context(identity: Identity, staged: Staged = new Map()): AdmissionContext {
    return this.#context(identity, staged);
  }

  /**
   * Judges one write as it is when those before it are stored.
   * @throws StatusError InvalidArgument with every violation
   */
  async prepareNext(
    identity: Identity,
    request: WriteRequest,
    staged: Staged,
  ): Promise<PreparedWrite> {
    const { object, found: misshapen } = this.#shape(request);
    if (misshapen.length > 0) throw invalid(misshapen);
    const id = stagedId(request.served.kind, this.#key(request, object));
    const context = this.#context(identity, new Map([...staged, [id, object]]));
    const { write, found } = await this.#admit(context, request, object, staged);
    if (found.length > 0) throw invalid(found);
    return write;
  }

  /**
   * Judges all writes as one set: each sees the others as stored.
   * @throws StatusError InvalidArgument with every violation of every object.
   */
  async prepare(
    identity: Identity,
    requests: readonly WriteRequest[],
  ): Promise<readonly PreparedWrite[]> {
    const many = requests.length > 1;
    const violations: FieldViolation[] = [];
    const shaped = requests.map((request, index) => {
      const { object, found } = this.#shape(request);
      violations.push(...(many ? found.map((v) => prefixed(v, index, object)) : found));
      return { request, object };
    });
    if (violations.length > 0) throw invalid(violations);
    const staged = new Map<string, ApiObject>();
    for (const { request, object } of shaped) {
      const id = `${request.served.kind.kind} ${keyString(this.#key(request, object))}`;
      if (staged.has(id))
        throw invalid([{ field: 'objects', description: `${id} is given twice; keep one` }]);
      staged.set(id, object);
    }
    const context = this.#context(identity, staged);
    const writes: PreparedWrite[] = [];
    for (const [index, { request, object }] of shaped.entries()) {
      const { write, found } = await this.#admit(context, request, object);
      staged.set(`${write.kind.kind} ${keyString(write.key)}`, write.object);
      violations.push(...(many ? found.map((v) => prefixed(v, index, object)) : found));
      writes.push(write);
    }
    if (violations.length > 0) throw invalid(violations);
    return writes;
  }

  #shape(request: WriteRequest): { object: ApiObject; found: readonly FieldViolation[] } {
    const { served, name } = request;
    const { inputs } = this.#options;
    const message = this.message(served);
    const cleaned: JsonObject = inputs.clean(message, request.object);
    const found: FieldViolation[] = [];
    const differs = (field: string, path: string): void => {
      const value = cleaned[field];
      if (value === undefined || value === '' || value === path) return;
      const description = `${JSON.stringify(value)} differs from ${JSON.stringify(path)} in the request's path; make them equal or leave it out`;
      found.push({ field, description });
    };
    const identity: Record<string, unknown> = {};
    if (name !== undefined) {
      differs('name', name);
      identity.name = name;
    }
    if (served.kind.scope === 'Namespaced') {
      const namespace = request.namespace ?? 'default';
      differs('namespace', namespace);
      identity.namespace = namespace;
    }
    const given = { ...cleaned, ...identity };
    found.push(...inputs.violations(message, given));
    const { declaration } = served.kind;
    const object = asObject(declaration ? declaration.completeSpec(given) : given);
    return { object, found };
  }

  #key(request: WriteRequest, object: ApiObject): ObjectKey {
    return keyFor(request.served.kind, object.namespace, object.name);
  }

  async #admit(
    context: AdmissionContext,
    request: WriteRequest,
    given: ApiObject,
    staged: Staged = new Map(),
  ): Promise<{ write: PreparedWrite; found: readonly FieldViolation[] }> {
    const { served, mode } = request;
    const { kind, rules } = served;
    const key = this.#key(request, given);
    const { store } = this.#options;
    const id = stagedId(kind, key);
    const find = (): Promise<ApiObject | undefined> =>
      staged.has(id) ? Promise.resolve(staged.get(id)) : store.get(kind, key);
    const before = mode === 'create' ? undefined : await find();
    if (mode === 'update' && !before) throw notFound({ kind: kind.kind, ...key });
    await this.#demandNamespace(context, served, given);
    const whole = withStatus(kind, given, before);
    const object = rules.prepare ? await rules.prepare(context, whole, before) : whole;
    const found = [
      ...this.#immutable(served, object, before),
      ...((await rules.validate?.(context, object, before)) ?? []),
    ];
    const operation = this.#operation(request, object, before);
    const changes = !before || changedFields(kind, object, before).length > 0;
    return { write: { kind, key, object, before, operation, changes }, found };
  }

  async #demandNamespace(
    context: AdmissionContext,
    { kind, rules }: ServedKind,
    object: ApiObject,
  ): Promise<void> {
    const { namespace } = object;
    if (kind.scope === 'Cluster' || namespace === undefined) return;
    const spaces = this.#options.served.get(this.#options.namespaceKind);
    if (!spaces) return;
    const space = await context.lookup(spaces.kind, { name: namespace });
    if (!space)
      throw new StatusError({
        code: 'NotFound',
        reason: 'NamespaceNotFound',
        message: `namespace "${namespace}" does not exist; create it, or set ensureNamespace`,
        resource: { kind: 'Namespace', name: namespace },
      });
    if (space.metadata?.deletionRequestedAt === undefined) return;
    if (await rules.neededWhileTerminating?.(context, object)) return;
    throw new StatusError({
      code: 'FailedPrecondition',
      reason: 'NamespaceTerminating',
      message: `namespace "${namespace}" is being deleted: only what its content waits for can be written into it`,
    });
  }

  #immutable(
    served: ServedKind,
    object: ApiObject,
    before: ApiObject | undefined,
  ): readonly FieldViolation[] {
    if (!before) return [];
    const names = [
      ...this.#options.inputs.immutableFields(this.message(served)),
      ...served.kind.immutableFields,
    ];
    const message = this.message(served);
    return [...new Set(names)]
      .filter((path) => !jsonEqual(valueAt(object, path), valueAt(before, path)))
      .map((field) => {
        const now = JSON.stringify(valueAt(object, field));
        const then = JSON.stringify(valueAt(before, field));
        const change = this.#options.inputs.isSensitive(message, field)
          ? 'it has another value'
          : `it is ${then} and can't become ${now}`;
        return {
          field,
          description: `is immutable: ${change}; delete the object and create it anew`,
        };
      });
  }

  #operation(
    { served, object: asGiven }: WriteRequest,
    object: ApiObject,
    before: ApiObject | undefined,
  ): Operation {
    const given = object.metadata as Partial<ObjectMeta> | undefined;
    const annotations = {
      ...(given?.annotations ? { annotations: given.annotations } : {}),
      // Never a client's: it is an output-only field, so only rules set it.
      ...(given?.expiresAt === undefined ? {} : { expiresAt: given.expiresAt }),
    };
    const { kind, rules } = served;
    if (!before) {
      const finalizers = rules.finalizers ? { finalizers: rules.finalizers } : {};
      const metadata = { ...annotations, ...finalizers };
      return { op: 'create', kind, object: { ...object, metadata } };
    }
    // Judged against `before`, so it must still be what is stored when the write happens.
    const asked = demandObjectVersion(given?.resourceVersion ?? '');
    const resourceVersion = asked !== '' ? asked : before.metadata.resourceVersion;
    const next = { ...object, metadata: annotations } as NewObject<ApiObject>;
    // Rules never see the uid that was sent, since it identifies nothing that is stored.
    const sent = isJsonObject(asGiven.metadata) ? textOf(asGiven.metadata, 'uid') : '';
    const uid = sent === '' ? before.metadata.uid : sent;
    return { op: 'update', kind, object: next, precondition: { resourceVersion, uid } };
  }

  #context(identity: Identity, staged: Staged): AdmissionContext {
    const { store, authorizer, objectAccess } = this.#options;
    return {
      identity,
      lookup: async <T extends ApiObject>(kind: Kind<T>, key: ObjectKey) => {
        const id = stagedId(kind, key);
        return staged.has(id) ? (staged.get(id) as T | undefined) : store.get(kind, key);
      },
      lookupAll: async <T extends ApiObject>(kind: Kind<T>) => {
        const { items } = await store.list(kind);
        const byKey = new Map(items.map((item) => [`${kind.kind} ${keyString(item)}`, item]));
        for (const [id, object] of staged) {
          if (!id.startsWith(`${kind.kind} `)) continue;
          if (object) byKey.set(id, object as T);
          else byKey.delete(id);
        }
        return [...byKey.values()];
      },
      can: (resource, verb, namespace) => authorizer.can(identity, { resource, verb, namespace }),
      reveals: async ({ plural: resource }, object) => {
        const { namespace } = object;
        const access = { resource, verb: 'reveal', namespace };
        if (!(await authorizer.can(identity, access))) return false;
        return (
          (await objectAccess?.filterFor(identity)?.allows(resource, 'reveal', object)) ?? true
        );
      },
    };
  }
}

/** The object of a declared kind with its status, so that rules see it as its type says. */
function withStatus(
  { declaration, initialStatus, statusFields }: AnyKind,
  object: ApiObject,
  before: ApiObject | undefined,
): ApiObject {
  if (!declaration) return object;
  const stored = Object.entries(before ?? {}).filter(([name]) => statusFields.includes(name));
  const status = before ? Object.fromEntries(stored) : { ...initialStatus };
  return asObject({ ...declaration.completeStatus(status), ...object });
}

function prefixed(violation: FieldViolation, index: number, object: ApiObject): FieldViolation {
  const name = (object as { readonly name?: unknown }).name;
  const label =
    typeof name === 'string' && name !== '' ? `objects[${index}] (${name})` : `objects[${index}]`;
  return { ...violation, field: `${label}.${violation.field}` };
}

/** Fields of metadata that an update replaces where they are given. */
const metadataFields = ['annotations', 'expiresAt'] as const;

/**
 * What an update changes: names of top-level fields, status apart, and `metadata.annotations` and
 * `metadata.expiresAt`.
 */
export function changedFields(
  kind: AnyKind,
  object: ApiObject,
  before: ApiObject | undefined,
): readonly string[] {
  const now = fieldsOf(object);
  const then = fieldsOf(before ?? {});
  const names = new Set([...Object.keys(now), ...Object.keys(then)]);
  const fields = [...names].filter(
    (name) =>
      name !== 'metadata' && !kind.statusFields.includes(name) && !jsonEqual(now[name], then[name]),
  );
  const given = object.metadata as Partial<ObjectMeta> | undefined;
  const metadata = metadataFields.filter(
    (name) =>
      given?.[name] !== undefined &&
      !jsonEqual(given[name], before?.metadata[name] ?? emptyOf(name)),
  );
  return [...fields, ...metadata.map((name) => `metadata.${name}`)];
}

function emptyOf(name: (typeof metadataFields)[number]): object | undefined {
  return name === 'annotations' ? {} : undefined;
}
