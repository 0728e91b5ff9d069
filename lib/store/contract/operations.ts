import type {
  AnyKind,
  ApiObject,
  NewObject,
  ObjectKey,
  ObjectVersion,
} from '../../object/index.js';
import type { IndexSelection } from './reads.js';

/**
 * Guards of a write; a mismatch is Aborted, reason Conflict. The message names what differs, of `fields`
 * only the paths.
 */
export interface Precondition {
  readonly resourceVersion?: string;
  readonly uid?: string;
  /** 1 or more. It rises when a field outside of status changes and when deletion is asked for. */
  readonly generation?: number;
  /** False demands that no deletion was asked for. */
  readonly deleting?: false;
  /** Only for `check`: false demands that there is no such object. */
  readonly exists?: false;
  /** Values that fields must have, by dotted path; `undefined` for absent. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

/**
 * Writes nothing: the transaction only happens if since `revision` no object of the kind (or none under
 * `value` of the index, before or after the change) was created, deleted or changed outside of its
 * status. Operations of the same transaction do not count. A status write counts for the values that it
 * moves an object to or from, where the index reads status.
 *
 * Without an index for kinds with `rarelyWritten` only.
 */
export type KindCheck = {
  readonly op: 'checkKind';
  readonly kind: AnyKind;
  /** Of a list that was read ({@link ListResult.revision}). */
  readonly revision: number;
} & IndexSelection;

/** One operation of a transaction. */
export type Operation = ObjectOperation | KindCheck;

/** An operation on one object. */
export type ObjectOperation =
  | { readonly op: 'create'; readonly kind: AnyKind; readonly object: NewObject<ApiObject> }
  | {
      /**
       * Replaces everything but status and what the store stamps, if the stored object is still the
       * one, and in the version, that the update was decided on.
       */
      readonly op: 'update';
      readonly kind: AnyKind;
      readonly object: NewObject<ApiObject>;
      readonly precondition: Precondition & ObjectVersion;
    }
  | {
      /** As `update`, whatever object of this name is stored, in whatever version. */
      readonly op: 'overwrite';
      readonly kind: AnyKind;
      readonly object: NewObject<ApiObject>;
    }
  | {
      /** Replaces status fields only; `status` holds those to set. */
      readonly op: 'updateStatus';
      readonly kind: AnyKind;
      readonly key: ObjectKey;
      readonly status: object;
      readonly precondition?: Precondition;
    }
  | {
      /** Deletes the object with this uid; another one of the same name is left alone. */
      readonly op: 'delete';
      readonly kind: AnyKind;
      readonly key: ObjectKey;
      readonly precondition: Precondition & Pick<ObjectVersion, 'uid'>;
    }
  | {
      /** Deletes whatever object has this name. */
      readonly op: 'deleteByName';
      readonly kind: AnyKind;
      readonly key: ObjectKey;
      readonly precondition?: Precondition;
    }
  | {
      /** Writes nothing: the transaction only happens if the object is at this version. */
      readonly op: 'check';
      readonly kind: AnyKind;
      readonly key: ObjectKey;
      readonly precondition: Precondition;
    };

/** What became of one operation. */
export interface OperationResult {
  /**
   * The object as stored now; for a deletion, its last state; without a uid for a check of an absence
   * or of a kind.
   */
  readonly object: ApiObject;
  /** False once the object is gone. */
  readonly exists: boolean;
  readonly changed: boolean;
}
