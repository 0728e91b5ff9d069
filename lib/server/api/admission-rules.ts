import type { FieldViolation } from '../../base/index.js';
import type { ApiObject, Kind, ObjectKey } from '../../object/index.js';
import type { Identity } from '../auth/index.js';
import type { Seen } from './seen-object.js';

/** The status fields that a rule may read. @typeParam P names of status fields */
export interface LookupOptions<P extends string> {
  /** Status fields that the rule reads; the commit checks that they are the same. */
  readonly status?: readonly P[];
}

/**
 * The only way for rules to read other objects. The commit checks all reads; if one changed, the write is validated
 * again. Rules therefore hold at the commit, and of two writes that exclude each other only one is stored.
 */
export interface AdmissionContext {
  readonly identity: Identity;
  /**
   * An object as it will be once the whole set of writes is stored; undefined when there is none. The
   * commit checks that it is the same one in the same generation (which a request to delete it raises),
   * or still absent.
   */
  lookup<T extends ApiObject, S extends string, const P extends S = never>(
    kind: Kind<T, S>,
    key: ObjectKey,
    options?: LookupOptions<P>,
  ): Promise<Seen<T, S, P> | undefined>;
  /**
   * All objects of a kind as they will be. The commit checks that none was created, deleted or changed,
   * status apart, so the kind must be declared `rarelyWritten`: others would keep each other from being
   * written.
   */
  lookupAll<T extends ApiObject, S extends string>(
    kind: Kind<T, S>,
  ): Promise<readonly Seen<T, S>[]>;
  /**
   * The objects under a value of an index of the kind, or of `namespace`, as they will be. The commit
   * checks that none under this value was created, deleted or changed, status apart.
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
   * Whether the writer may read the hidden values of a stored object: it has the verb `reveal`. If not, rules
   * must treat each value that is given for a hidden one as another value. Otherwise a write tells by its
   * outcome whether a guess is right.
   */
  reveals<T extends ApiObject>(kind: Kind<T>, object: T): Promise<boolean>;
}

/** Rules of one kind, run on every write path alike: REST, gRPC, cast, custom methods. */
export interface AdmissionRules<T extends ApiObject = ApiObject> {
  /**
   * Fills defaults and brings the object into its stored form. `before` is set on update.
   * Runs after the shape was judged, before {@link validate}.
   */
  prepare?(context: AdmissionContext, object: T, before: T | undefined): Promise<T>;
  /** Everything that is wrong with the prepared object. */
  validate?(
    context: AdmissionContext,
    object: T,
    before: T | undefined,
  ): Promise<readonly FieldViolation[]>;
  /** Refuses a deletion by throwing FailedPrecondition. `options` are the request's further fields. */
  validateDelete?(
    context: AdmissionContext,
    object: T,
    options: Readonly<Record<string, unknown>>,
  ): Promise<void>;
  /**
   * Whether an object may be written into a namespace that is being deleted, since something there
   * waits for it. `before` is set on update. Absent: nothing may.
   */
  neededWhileTerminating?(
    context: AdmissionContext,
    object: T,
    before: T | undefined,
  ): Promise<boolean>;
  /** The reason why objects of this kind can't be cast, with the remedy. Absent: they can. */
  readonly castRefusal?: string;
  /** Finalizers every new object gets. */
  readonly finalizers?: readonly string[];
  /** The object as clients may see it; `reveal` is true if secret values were requested and permitted. */
  present?(object: T, reveal: boolean): T;
  /**
   * Indexes of the kind that are made of nothing that `present` hides. By another one of a kind with
   * `present` only those may list and check who may see what is hidden.
   */
  readonly visibleIndexes?: readonly string[];
}
