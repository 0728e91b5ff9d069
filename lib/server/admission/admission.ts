import {
  alreadyExists,
  type Clock,
  type FieldViolation,
  invalid,
  notFound,
  StatusError,
  TimeSlice,
} from '../../base/index.js';
import { after, type Later } from '../../base/promises/later.js';
import { asObject, type ApiObject, keyFor, keyString, type ObjectKey } from '../../object/index.js';
import type { DescMessage, JsonObject, SchemaRegistry } from '../../rpc/index.js';
import type { ObjectStore } from '../../store/index.js';
import type { AdmissionContext } from '../api/admission-rules.js';
import type { ServedKind } from '../api/served-kind.js';
import type { AccessControl, Identity } from '../auth/index.js';
import { changedImmutables, type ImmutableWrite } from './immutable-fields.js';
import type { InputSchemas } from '../schema/input-schemas.js';
import { writeOperation } from './write-operation.js';
import { statusIn } from './written-status.js';
import { Validation } from './validation.js';
import type { ObjectAccess } from '../api/object-access.js';
import type { WriteRequest, PreparedWrite } from './write-request.js';
import { changedFields } from './changed-fields.js';
import { asStored, withStatus } from './stored-form.js';

/** Options of admission. */
export interface AdmissionOptions {
  readonly store: ObjectStore;
  readonly authorizer: AccessControl;
  readonly objectAccess: ObjectAccess | undefined;
  readonly schemas: SchemaRegistry;
  readonly inputs: InputSchemas;
  readonly served: ReadonlyMap<string, ServedKind>;
  /** The messages of kinds that the API does not declare itself. */
  readonly base: SchemaRegistry;
  /** The kind of namespaces. The namespace of a namespaced object must exist in it; undefined: this is not checked. */
  readonly namespaces: ServedKind | undefined;
  readonly clock: Clock;
}

/** The result of the rules of a kind. */
interface Admitted {
  readonly write: PreparedWrite;
  readonly found: readonly FieldViolation[];
}

interface Before {
  readonly before: ApiObject | undefined;
}

const none: readonly FieldViolation[] = [];

/** The admission chain: shape, defaults, rules; for one object or for a set. */
export class Admission {
  readonly #options: AdmissionOptions;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** The message of a kind. @throws TypeError if no descriptor set has it */
  message(served: ServedKind): DescMessage {
    const { schemas, base } = this.#options;
    return schemas.registry.getMessage(served.message) ?? base.message(served.message);
  }

  /**
   * The status fields that a controller sends; see {@link statusIn}.
   * @throws StatusError InvalidArgument if they do not match the message.
   */
  statusOf(served: ServedKind, object: JsonObject, mask: readonly string[] = []): JsonObject {
    return statusIn(this.#options, { served, message: this.message(served), object, mask });
  }

  /** Starts the validation of one attempt to write. */
  validation(identity: Identity): Validation {
    return new Validation(this.#options, identity);
  }

  /**
   * Validates one write on top of the staged writes of `validation`, and stages it.
   * @param guard checks the stored object before an update is compared with it: the errors of rules quote it
   * @throws StatusError InvalidArgument with every violation of the shape, or else of the rules; NotFound for an update
   * of a missing object, AlreadyExists for a creation of an existing object; errors of `guard`, namespace and rules
   */
  prepareNext(
    validation: Validation,
    request: WriteRequest,
    guard: (stored: ApiObject) => Later<unknown>,
  ): Later<PreparedWrite> {
    const { object, found: misshapen } = this.#shape(request);
    if (misshapen.length > 0) throw invalid(misshapen);
    const { kind } = request.served;
    const key = this.#key(request, object);
    const { staging } = validation;
    const staged = staging.has(kind, key);
    const present = staged ? staging.get(kind, key) : validation.stored(kind, key);
    return after(present, (current) => {
      return after(request.mode === 'update' && current ? guard(current) : undefined, () => {
        staging.set(kind, key, asStored(kind, object, current));
        return after(this.#admit(validation, request, object, current), ({ write, found }) => {
          if (found.length > 0) throw invalid(found);
          staging.set(kind, key, asStored(kind, write.object, current));
          return write;
        });
      });
    });
  }

  /**
   * Validates all writes as one set: each sees the others as stored. It runs in slices, because a set may be large.
   * @throws StatusError InvalidArgument with every violation of the shapes of all objects, or else of the rules;
   * NotFound, AlreadyExists, and errors of the namespace and of the rules, of the first object that has one
   */
  async prepare(
    validation: Validation,
    requests: readonly WriteRequest[],
  ): Promise<readonly PreparedWrite[]> {
    const many = requests.length > 1;
    const slice = new TimeSlice(this.#options.clock, { everyStep: true });
    const violations: FieldViolation[] = [];
    const shaped: { readonly request: WriteRequest; readonly object: ApiObject }[] = [];
    for (const [index, request] of requests.entries()) {
      const { object, found } = this.#shape(request);
      violations.push(...(many ? found.map((v) => prefixed(v, index, object)) : found));
      shaped.push({ request, object });
      if (slice.due()) await slice.pause();
    }
    if (violations.length > 0) throw invalid(violations);
    const { staging } = validation;
    const currents: (ApiObject | undefined)[] = [];
    for (const { request, object } of shaped) {
      const { kind } = request.served;
      const key = this.#key(request, object);
      if (staging.has(kind, key)) {
        const id = `${kind.kind} ${keyString(key)}`;
        throw invalid([{ field: 'objects', description: `${id} is listed twice; keep one` }]);
      }
      const current = await validation.stored(kind, key);
      staging.set(kind, key, asStored(kind, object, current));
      currents.push(current);
      if (slice.due()) await slice.pause();
    }
    const writes: PreparedWrite[] = [];
    for (const [index, { request, object }] of shaped.entries()) {
      const { write, found } = await this.#admit(validation, request, object, currents[index]);
      staging.set(write.kind, write.key, asStored(write.kind, write.object, currents[index]));
      violations.push(...(many ? found.map((v) => prefixed(v, index, object)) : found));
      writes.push(write);
      if (slice.due()) await slice.pause();
    }
    if (violations.length > 0) throw invalid(violations);
    return writes;
  }

  #shape(request: WriteRequest): { object: ApiObject; found: readonly FieldViolation[] } {
    const { served, name } = request;
    const { inputs } = this.#options;
    const message = this.message(served);
    const overfull = inputs.overfull(message, request.object);
    if (overfull.length > 0)
      return { object: request.object as unknown as ApiObject, found: overfull };
    const cleaned: JsonObject = inputs.clean(message, request.object);
    const found: FieldViolation[] = [];
    const differs = (field: string, path: string): void => {
      const value = cleaned[field];
      if (value === undefined || value === '' || value === path) return;
      const description = `${JSON.stringify(value)} differs from ${JSON.stringify(path)} in the path of the request; make them equal or omit it`;
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

  /**
   * Applies the rules of the kind to a write of valid shape. Returns the write and its violations.
   * @param current the object of this name after the previous writes
   * @throws StatusError NotFound or AlreadyExists, as the mode of the write requires; errors of its namespace
   */
  #admit(
    context: AdmissionContext,
    request: WriteRequest,
    given: ApiObject,
    current: ApiObject | undefined,
  ): Later<Admitted> {
    const { served, mode } = request;
    const { kind, rules } = served;
    const key = this.#key(request, given);
    const before = mode === 'create' ? undefined : current;
    if (mode === 'update' && !before) throw notFound({ kind: kind.kind, ...key });
    const admitted = (object: ApiObject, found: readonly FieldViolation[]): Admitted => {
      if (mode === 'create' && current && found.length === 0)
        throw alreadyExists({ kind: kind.kind, ...key });
      const operation = writeOperation(request, object, before);
      const changes = !before || changedFields(kind, object, before).length > 0;
      return { write: { kind, key, object, before, operation, changes }, found };
    };
    return after(this.#requireNamespace(context, served, given, before), () => {
      const whole = withStatus(kind, given, before);
      const prepared = rules.prepare ? rules.prepare(context, whole, before) : whole;
      return after(prepared, (object) =>
        after(this.#violations(context, served, { given: whole, object, before }), (found) =>
          admitted(object, found),
        ),
      );
    });
  }

  /** The violations of immutable fields of an update, then those of the rules of the kind. */
  #violations(
    context: AdmissionContext,
    served: ServedKind,
    { given, object, before }: Pick<ImmutableWrite, 'given' | 'object'> & Before,
  ): Later<readonly FieldViolation[]> {
    const immutable = before ? this.#immutable(context, served, { given, object, before }) : none;
    return after(immutable, (first) =>
      after(served.rules.validate?.(context, object, before) ?? none, (further = none) =>
        first.length === 0 ? further : [...first, ...further],
      ),
    );
  }

  #requireNamespace(
    context: AdmissionContext,
    served: ServedKind,
    object: ApiObject,
    before: ApiObject | undefined,
  ): Later<void> {
    const { namespace } = object;
    if (served.kind.scope === 'Cluster' || namespace === undefined) return;
    const spaces = this.#options.namespaces;
    if (!spaces) return;
    return after(context.lookup(spaces.kind, { name: namespace }), (space) => {
      if (!space)
        throw new StatusError({
          code: 'NotFound',
          reason: 'NamespaceNotFound',
          message: `namespace "${namespace}" does not exist; create it first`,
          resource: { kind: spaces.kind.kind, name: namespace },
        });
      if (space.metadata?.deletionRequestedAt === undefined) return;
      return this.#requireNeeded(context, served, object, before);
    });
  }

  /** @throws StatusError FailedPrecondition unless the object is needed in its namespace, which is being deleted */
  async #requireNeeded(
    context: AdmissionContext,
    { rules }: ServedKind,
    object: ApiObject,
    before: ApiObject | undefined,
  ): Promise<void> {
    if (await rules.neededWhileTerminating?.(context, object, before)) return;
    const namespace = object.namespace ?? '';
    throw new StatusError({
      code: 'FailedPrecondition',
      reason: 'NamespaceTerminating',
      message: `namespace "${namespace}" is being deleted: only objects that its remaining objects need for their deletion can be written; use another namespace, or wait until it is deleted`,
    });
  }

  async #immutable(
    context: AdmissionContext,
    served: ServedKind,
    write: ImmutableWrite,
  ): Promise<readonly FieldViolation[]> {
    const { kind, rules } = served;
    const { inputs } = this.#options;
    const message = this.message(served);
    const paths = [...new Set([...inputs.immutableFields(message), ...kind.immutableFields])];
    const isSensitive = (path: string): boolean => inputs.isSensitive(message, path);
    const reveals = (): Promise<boolean> => context.reveals(kind, write.before);
    return changedImmutables(write, { paths, rules, isSensitive, reveals });
  }
}

function prefixed(violation: FieldViolation, index: number, object: ApiObject): FieldViolation {
  const name = (object as { readonly name?: unknown }).name;
  const label =
    typeof name === 'string' && name !== '' ? `objects[${index}] (${name})` : `objects[${index}]`;
  return { ...violation, field: `${label}.${violation.field}` };
}
