import type { FieldViolation } from '../../base/index.js';
import type { ApiObject, Kind, ObjectKey } from '../../object/index.js';
import type { Identity } from '../auth/index.js';
import type { Seen } from './seen-object.js';

/**
 * The status fields that a rule may read.
 * @typeParam P names of status fields
 */
export interface LookupOptions<P extends string> {
  /** Status fields that the rule reads; the commit checks that they are unchanged. */
  readonly status?: readonly P[];
}

/**
 * The only way for rules to read other objects. The commit checks all reads; if one changed, the write is validated
 * again. Rules therefore hold at the commit, and only one of two writes that exclude each other is stored.
 */
export interface AdmissionContext {
  readonly identity: Identity;
  /**
   * An object after all writes of a cast, or after the earlier operations of a transaction; undefined if it does not
   * exist then. The commit checks that it is the same object in the same generation (which a deletion request
   * increments), or still absent.
   */
  lookup<T extends ApiObject, S extends string, const P extends S = never>(
    kind: Kind<T, S>,
    key: ObjectKey,
    options?: LookupOptions<P>,
  ): Promise<Seen<T, S, P> | undefined>;
  /**
   * All objects of a kind after the writes that {@link lookup} sees. The commit checks that none was created, deleted
   * or changed outside of its status. The kind must be declared `rarelyWritten`: writes of others would conflict with
   * each other.
   */
  lookupAll<T extends ApiObject, S extends string>(
    kind: Kind<T, S>,
  ): Promise<readonly Seen<T, S>[]>;
  /**
   * The objects under a value of an index of the kind, or of `namespace`, after the writes that {@link lookup} sees.
   * The commit checks that none under this value was created, deleted or changed outside of its status.
   */
  lookupBy<T extends ApiObject, S extends string, I extends string, const P extends S = never>(
    kind: Kind<T, S, I>,
    index: NoInfer<I> | 'namespace',
    value: string,
    options?: LookupOptions<P>,
  ): Promise<readonly Seen<T, S, P>[]>;
  /** Whether the writer has this right, at the time of the request. */
  can(resource: string, verb: string, namespace: string | undefined): Promise<boolean>;
  /**
   * Whether the writer may read the hidden values of a stored object: it has the verb `reveal`. If not, rules must
   * treat each given value of a hidden field as a change. Otherwise the outcome of a write discloses whether a guess
   * is right.
   */
  reveals<T extends ApiObject>(kind: Kind<T>, object: T): Promise<boolean>;
}

/**
 * The rules of one kind. They run when the API creates, updates or deletes an object: over REST and gRPC, by a cast or
 * a transaction, and in custom methods that use `Resources`. They do not run for a write of the status, nor for a write
 * to the store itself.
 */
export interface AdmissionRules<T extends ApiObject = ApiObject> {
  /**
   * Fills in defaults and converts the object to its stored form. `before` is set for an update. It runs after the
   * validation of the shape and before {@link validate}.
   */
  prepare?(context: AdmissionContext, object: T, before: T | undefined): T | Promise<T>;
  /** Returns all violations of the prepared object. */
  validate?(
    context: AdmissionContext,
    object: T,
    before: T | undefined,
  ): readonly FieldViolation[] | Promise<readonly FieldViolation[]>;
  /** Refuses a deletion by throwing FailedPrecondition. `options` are further fields of the request. */
  validateDelete?(
    context: AdmissionContext,
    object: T,
    options: Readonly<Record<string, unknown>>,
  ): Promise<void>;
  /**
   * Whether an object may be written into a namespace that is being deleted, because the deletion of another object
   * there depends on it. `before` is set for an update. Absent: no object may.
   */
  neededWhileTerminating?(
    context: AdmissionContext,
    object: T,
    before: T | undefined,
  ): Promise<boolean>;
  /** The reason why objects of this kind can't be cast, with the remedy. Absent: they can. */
  readonly castRefusal?: string;
  /** Finalizers of every new object. */
  readonly finalizers?: readonly string[];
  /** The object as clients may see it; `reveal` is true if secret values were requested and permitted. */
  present?(object: T, reveal: boolean): T;
  /**
   * Indexes of the kind whose values do not depend on fields that `present` hides. For other indexes of a kind with
   * `present`, lists and checks require the right to read hidden values.
   */
  readonly visibleIndexes?: readonly string[];
}
