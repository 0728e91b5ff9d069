import type { AnyKind, ApiObject, ObjectKey } from '../../object/index.js';
import type { JsonObject } from '../../rpc/index.js';
import type { Operation } from '../../store/index.js';
import type { ServedKind } from '../api/served-kind.js';

/** A write request of a client. */
export interface WriteRequest {
  readonly served: ServedKind;
  readonly namespace: string | undefined;
  /** The name in the path; undefined if only the body names the object. */
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
