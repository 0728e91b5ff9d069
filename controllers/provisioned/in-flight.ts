import {
  type ApiObject,
  keyOf,
  type Kind,
  type ObjectKey,
  type ReconcileContext,
  type StatusUpdate,
  type Transaction,
} from 'kedge';
import { requireSeen } from './retries.js';

/**
 * A status field of a source with the uids of the objects that are being created from it. A listed uid prevents the
 * deletion of the source.
 */
export interface InFlight<T extends ApiObject, F extends string> {
  readonly kind: Kind<T, F>;
  readonly field: F & keyof T;
}

function uidsIn<T extends ApiObject, F extends string>(
  { field }: InFlight<T, F>,
  source: T | undefined,
): readonly string[] {
  return (source?.[field] as readonly string[] | undefined) ?? [];
}

function write<T extends ApiObject, F extends string>(
  txn: Transaction,
  { kind, field }: InFlight<T, F>,
  source: T,
  uids: readonly string[],
): void {
  const status = { [field]: uids } as unknown as StatusUpdate<T, F>;
  txn.updateStatus(kind, keyOf(source), status);
}

/** The intent to create an object, as a status write. */
export interface Intent<T extends ApiObject, F extends string> {
  readonly kind: Kind<T, F>;
  /** The version that was read. */
  readonly object: T;
  readonly status: StatusUpdate<T, F>;
  /** Further writes of the transaction. */
  readonly also?: (txn: Transaction) => Promise<void>;
}

/**
 * Stores an intent and protects its source in one transaction, so that the source is not deleted during the
 * copy.
 * @param source the version that was read
 * @throws StatusError Aborted if one of them changed since
 */
export function enterInFlight<
  T extends ApiObject,
  F extends string,
  U extends ApiObject,
  G extends string,
>(
  request: ReconcileContext,
  { kind, object, status, also }: Intent<T, F>,
  of: InFlight<U, G>,
  source: U,
): Promise<void> {
  const { uid } = object.metadata;
  return request.txn(async (txn) => {
    requireSeen(kind, object, await txn.get(kind, keyOf(object)));
    const current = await txn.get(of.kind, keyOf(source));
    requireSeen(of.kind, source, current);
    txn.updateStatus(kind, keyOf(object), status);
    write(txn, of, current, [...uidsIn(of, current).filter((other) => other !== uid), uid]);
    await also?.(txn);
  });
}

/** Removes a uid from its source; no-op if the source does not list it. */
export async function leaveInFlight<T extends ApiObject, F extends string>(
  txn: Transaction,
  of: InFlight<T, F>,
  key: ObjectKey,
  uid: string,
): Promise<void> {
  const source = await txn.get(of.kind, key, { watching: [of.field] });
  const uids = uidsIn(of, source);
  if (source && uids.includes(uid))
    write(
      txn,
      of,
      source,
      uids.filter((other) => other !== uid),
    );
}

/** Like {@link leaveInFlight} in its own transaction, if the cached source lists the uid. Idempotent. */
export async function releaseInFlight<T extends ApiObject, F extends string>(
  request: ReconcileContext,
  of: InFlight<T, F>,
  shown: T | undefined,
  uid: string,
): Promise<void> {
  if (!shown || !uidsIn(of, shown).includes(uid)) return;
  await request.txn((txn) => leaveInFlight(txn, of, keyOf(shown), uid));
}
