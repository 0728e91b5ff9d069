import { hasCode, notFound, StatusError } from '../../base/index.js';
import { after, type Later, recovered } from '../../base/promises/later.js';
import { type ApiObject, asObject, keyFor, type ObjectKey } from '../../object/index.js';
import type { JsonObject } from '../../rpc/index.js';
import type { AdmissionRules } from '../api/admission-rules.js';
import type { ServedKind } from '../api/served-kind.js';
import type { CallContext } from '../api/call.js';
import {
  type ObjectAccess,
  type ObjectChange,
  requireChange,
  requireObject,
} from '../api/object-access.js';
import type { Validation } from './validation.js';
import type { Admission } from './admission.js';
import type { PreparedWrite, WriteRequest } from './write-request.js';

/** Options of {@link WritePlanner}. */
export interface WritePlannerOptions {
  readonly admission: Admission;
  readonly objectAccess: ObjectAccess | undefined;
}

/**
 * Plans writes after authorization of the method: object access, shape, admission. Standard methods and
 * transactions use the same plans, so that they refuse the same writes.
 */
export class WritePlanner {
  readonly #options: WritePlannerOptions;

  constructor(options: WritePlannerOptions) {
    this.#options = options;
  }

  /** The object after the operations planned so far; undefined if it does not exist. */
  find({ kind }: ServedKind, key: ObjectKey, validation: Validation): Later<ApiObject | undefined> {
    const { staging } = validation;
    return staging.has(kind, key) ? staging.get(kind, key) : validation.stored(kind, key);
  }

  /** Returns the object after the operations planned so far. @throws StatusError NotFound */
  require(served: ServedKind, key: ObjectKey, validation: Validation): Later<ApiObject> {
    return after(this.find(served, key, validation), (object) => {
      if (!object) throw notFound({ kind: served.kind.kind, ...key });
      return object;
    });
  }

  /** Whether the caller's access is restricted by object; that check needs the whole stored object. */
  narrows({ identity }: CallContext): boolean {
    return this.#options.objectAccess?.filterFor(identity) !== undefined;
  }

  /**
   * Checks the access to an object.
   * @throws StatusError PermissionDenied for an object that the caller may not access
   */
  requireAccess(
    { identity }: CallContext,
    resource: string,
    verb: string,
    object: ApiObject,
  ): Later<void> {
    const filter = this.#options.objectAccess?.filterFor(identity);
    return requireObject(filter, identity, resource, verb, object);
  }

  /**
   * Checks the changed fields.
   * @throws StatusError PermissionDenied that names the fields that the caller may not change
   */
  requireChange({ identity }: CallContext, resource: string, change: ObjectChange): Later<void> {
    const filter = this.#options.objectAccess?.filterFor(identity);
    return requireChange(filter, identity, resource, change);
  }

  /**
   * Plans a creation or a replacement.
   * @param guard compares the versions that the caller gave with the stored object. It runs before any field is compared: a
   * newer object also has the changes of others.
   * @throws StatusError errors of `guard`; as {@link Admission.prepareNext}; PermissionDenied for an object or a field
   * that the caller may not change. It comes before any error that quotes the stored object.
   */
  write(
    context: CallContext,
    request: WriteRequest & { readonly mode: 'create' | 'update' },
    validation: Validation,
    guard: (stored: ApiObject) => Later<unknown> = () => undefined,
  ): Later<PreparedWrite> {
    const { served, mode } = request;
    const { plural } = served.kind;
    const accessed = (stored: ApiObject): Later<unknown> =>
      after(this.requireAccess(context, plural, mode, stored), () => guard(stored));
    const prepared = recovered(
      () => this.#options.admission.prepareNext(validation, request, accessed),
      (error) => this.#refused(context, request, validation, error),
    );
    return after(prepared, (write) => {
      const { before, object } = write;
      const allowed = before ? undefined : this.requireAccess(context, plural, mode, object);
      return after(allowed, () =>
        after(this.requireChange(context, plural, { before, after: object }), () => write),
      );
    });
  }

  /** Rejects. The error for an existing object discloses it only to callers that may access it. */
  async #refused(
    context: CallContext,
    request: WriteRequest & { readonly mode: 'create' | 'update' },
    validation: Validation,
    error: unknown,
  ): Promise<never> {
    const there = hasCode(error, 'AlreadyExists') && StatusError.from(error).resource;
    if (!there || !this.narrows(context)) throw error;
    const { kind } = request.served;
    const key = keyFor(kind, there.namespace, there.name);
    const object = await validation.stored(kind, key);
    if (object) await this.requireAccess(context, kind.plural, request.mode, object);
    throw error;
  }

  /**
   * Returns the status fields to set, which are in `given` or named by `mask`, and their object.
   * @param guard as in {@link write}
   * @throws StatusError NotFound, PermissionDenied, InvalidArgument; errors of `guard`
   */
  async status(
    context: CallContext,
    served: ServedKind,
    key: ObjectKey,
    given: JsonObject,
    mask: readonly string[],
    validation: Validation,
    guard: (object: ApiObject) => unknown,
  ): Promise<{ readonly current: ApiObject; readonly status: JsonObject }> {
    const current = await this.require(served, key, validation);
    const resource = `${served.kind.plural}/status`;
    await this.requireAccess(context, resource, 'update', current);
    await guard(current);
    const status = this.#options.admission.statusOf(served, given, mask);
    const after = asObject({ ...current, ...status });
    await this.requireChange(context, resource, { before: current, after });
    return { current, status };
  }

  /**
   * Plans a deletion; resolves to the object to delete.
   * @param guard runs before the rules of the object's kind
   * @param options further fields of the request, for those rules
   * @throws StatusError NotFound, PermissionDenied; errors of `guard` and of the rules
   */
  async deletion(
    context: CallContext,
    served: ServedKind,
    key: ObjectKey,
    guard: (object: ApiObject) => void | Promise<void>,
    options: JsonObject,
    validation: Validation,
  ): Promise<ApiObject> {
    const object = await this.require(served, key, validation);
    await this.requireAccess(context, served.kind.plural, 'delete', object);
    await guard(object);
    const rules: AdmissionRules = served.rules;
    await rules.validateDelete?.(validation, object, options);
    return object;
  }
}
