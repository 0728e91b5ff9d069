import type {
  AnyKind,
  ApiObject,
  NewObject,
  ObjectKey,
  ObjectVersion,
} from '../../object/index.js';
import type { IndexSelection } from './reads.js';

/**
 * Guards of a write; a mismatch is Aborted, reason Conflict. The message names the differences; for `fields` only
 * their paths.
 */
export interface Precondition {
  readonly resourceVersion?: string;
  readonly uid?: string;
  /** 1 or more; `ObjectMeta.generation` says what increments it. */
  readonly generation?: number;
  /** False requires that no deletion was requested. */
  readonly deleting?: false;
  /** Only for `check`: false requires that the object does not exist. */
  readonly exists?: false;
  /** Required values of fields by dotted path, at most `limits.preconditionFieldsMax`; `undefined` for absent. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/**
 * A check without a write: the transaction is committed only if no object of the kind (or none under `value` of the
 * index, before or after the change) was created, deleted or changed outside of its status since `revision`.
 * Operations of the same transaction do not count. If the index reads status, a status write counts for the values
 * between which it moves an object.
 *
 * Without an index only for kinds with `rarelyWritten`.
 */
export type KindCheck = {
  readonly op: 'checkKind';
  readonly kind: AnyKind;
  /** Revision of the list that was read ({@link ListResult.revision}). */
  readonly revision: number;
} & IndexSelection;

/** One operation of a transaction. */
export type Operation = ObjectOperation | KindCheck;

/** An operation on one object. */
export type ObjectOperation =
  | { readonly op: 'create'; readonly kind: AnyKind; readonly object: NewObject<ApiObject> }
  | {
      /**
       * Replaces everything except status and the store's metadata, if the stored object has the uid and version of
       * the given one.
       */
      readonly op: 'update';
      readonly kind: AnyKind;
      readonly object: NewObject<ApiObject>;
      readonly precondition: Precondition & ObjectVersion;
    }
  | {
      /** Like `update`, for any stored object of this name in any version. */
      readonly op: 'overwrite';
      readonly kind: AnyKind;
      readonly object: NewObject<ApiObject>;
    }
  | {
      /** Replaces only the status fields in `status`. */
      readonly op: 'updateStatus';
      readonly kind: AnyKind;
      readonly key: ObjectKey;
      readonly status: object;
      readonly precondition?: Precondition;
    }
  | {
      /** Deletes the object with this uid; another one of the same name is not affected. */
      readonly op: 'delete';
      readonly kind: AnyKind;
      readonly key: ObjectKey;
      readonly precondition: Precondition & Pick<ObjectVersion, 'uid'>;
    }
  | {
      /** Deletes any object with this name. */
      readonly op: 'deleteByName';
      readonly kind: AnyKind;
      readonly key: ObjectKey;
      readonly precondition?: Precondition;
    }
  | {
      /** A check without a write: the transaction is committed only if `precondition` holds. */
      readonly op: 'check';
      readonly kind: AnyKind;
      readonly key: ObjectKey;
      readonly precondition: Precondition;
    };

/** The result of one operation. */
export interface OperationResult {
  /**
   * The stored object; for a deletion, its last state. It has no uid for a check of an absence or of a kind.
   */
  readonly object: ApiObject;
  /** False if the object was removed. */
  readonly exists: boolean;
  readonly changed: boolean;
}
