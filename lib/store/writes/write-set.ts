import { counted, limits, type Random, StatusError } from '../../base/index.js';
import { type ApiObject, deepFreeze, keyString } from '../../object/index.js';
import type { Commit } from '../log/commit-pipeline.js';
import type { KeptIndexes } from '../index/kept-indexes.js';
import { requireUnchanged } from './kind-checks.js';
import { LazyObject } from '../record/lazy-object.js';
import { requireKnownOperations } from './known-operation.js';
import type { ObjectIndex } from '../index/object-index.js';
import { type Applied, applyOperation, type Stamp } from './operations.js';
import { keyOfOperation } from './operation-key.js';
import { type ChangeType, type EncodedRecord, encodeRecord } from '../record/record-codec.js';
import type { RecentChanges, Touch } from './recent-changes.js';
import type { Change } from '../index/selection.js';
import type {
  KindCheck,
  ObjectOperation,
  Operation,
  OperationResult,
} from '../contract/operations.js';

/** The effect of a transaction on one object. */
interface Staged {
  readonly kind: string;
  readonly key: string;
  readonly before: LazyObject | undefined;
  after: Applied;
  changed: boolean;
  /** True while only status changed. */
  statusOnly: boolean;
}

/** A validated and encoded transaction that is not on disk yet. */
export interface WriteSet {
  readonly revision: number;
  readonly results: readonly OperationResult[];
  readonly records: readonly EncodedRecord[];
  readonly changes: readonly Change[];
  /** One per change; none for changes that were read back from the log. */
  readonly touches: readonly Touch[];
  readonly bytes: number;
}

/** A write set in the pipeline, with its completion callbacks. */
export type WriteCommit = WriteSet & Commit;

/**
 * Creates the commit of a write set.
 *
 * The fields are named: V8 copies a spread of this many fields property by property through a dictionary, which is
 * slow.
 */
export function commitOf(
  set: WriteSet,
  resolve: () => void,
  reject: (error: Error) => void,
): WriteCommit {
  const { revision, results, records, changes, touches, bytes } = set;
  return { revision, results, records, changes, touches, bytes, resolve, reject };
}

/** The context of a write set: stored state and metadata. */
export interface WriteContext {
  readonly index: ObjectIndex;
  readonly kept: KeptIndexes;
  readonly recent: RecentChanges;
  readonly random: Random;
  readonly revision: number;
  /** Commit time, milliseconds since the epoch. */
  readonly at: number;
}

/**
 * Checks the size of a transaction. Checks do not count as writes, so that a fence does not make a transaction too
 * large.
 * @throws StatusError InvalidArgument (TransactionTooLarge, and ValidationFailed for an invalid operation)
 */
export function requireOperations(operations: readonly Operation[]): void {
  requireKnownOperations(operations);
  const { transactionOperationsMax, transactionChecksMax } = limits;
  let writes = 0;
  for (const { op } of operations) if (op !== 'check' && op !== 'checkKind') writes += 1;
  const checks = operations.length - writes;
  if (writes <= transactionOperationsMax && checks <= transactionChecksMax) return;
  throw new StatusError({
    code: 'InvalidArgument',
    reason: 'TransactionTooLarge',
    message: `a transaction has ${counted(writes, 'writing operation')} and ${counted(checks, 'check')}, and at most ${transactionOperationsMax} and ${transactionChecksMax} are allowed; split it`,
  });
}

/** The latest state of an object, durable or pending; undefined if it does not exist. */
function latest(index: ObjectIndex, kind: string, key: string): LazyObject | undefined {
  const table = index.table(kind);
  const pending = table.pending.get(key);
  if (pending) return pending.exists ? pending.entry : undefined;
  return table.get(key);
}

/** The result of a check of a kind, which has no object. */
const nothing: ApiObject = deepFreeze({
  name: '',
  metadata: { uid: '', resourceVersion: '', generation: 0, createdAt: '', updatedAt: '' },
});

let stampedAt = NaN;
let stampedText = '';

/** The commit time as text, cached per millisecond. */
function timeText(at: number): string {
  if (at !== stampedAt) {
    stampedAt = at;
    stampedText = new Date(at).toISOString();
  }
  return stampedText;
}

/**
 * Validates operations in order, each based on the previous ones, and encodes their changes.
 * @throws StatusError of the first invalid operation; nothing was changed then.
 */
export function stageWrites(operations: readonly Operation[], context: WriteContext): WriteSet {
  const [first] = operations;
  if (operations.length === 1 && first && first.op !== 'checkKind') {
    const staged = stageFirst(first, context, stampOf(context));
    const net = staged.changed && (staged.before !== undefined || staged.after.exists);
    return encodeOne([staged.after], net ? staged : undefined, context);
  }
  const steps = stagingSteps(operations, context);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

function stampOf({ revision, random, at }: WriteContext): Stamp {
  return { revision, now: timeText(at), uid: () => random.uuid() };
}

function stageFirst(operation: ObjectOperation, context: WriteContext, stamp: Stamp): Staged {
  const kind = operation.kind.kind;
  context.kept.learn(operation.kind, context.revision - 1);
  const key = keyString(keyOfOperation(operation));
  const before = latest(context.index, kind, key);
  const after = applyOperation(operation, before?.object, stamp);
  if (after.changed) deepFreeze(after.object);
  return {
    kind,
    key,
    before,
    after,
    changed: after.changed,
    statusOnly: isStatus(operation, after),
  };
}

function isStatus({ op }: ObjectOperation, { changed }: Applied): boolean {
  return !changed || op === 'updateStatus';
}

/** Checks a kind against the writes before this transaction, regardless of the position of the check in it. */
function stageCheck(check: KindCheck, { kept, recent, revision }: WriteContext): Applied {
  kept.learn(check.kind, revision - 1);
  requireUnchanged(check, { kept, recent, revision: revision - 1 });
  return { object: nothing, exists: false, changed: false };
}

/**
 * Like {@link stageWrites}, in steps of one operation or one record. No write may be accepted between two steps: all of
 * them see the same state.
 */
export function* stagingSteps(
  operations: readonly Operation[],
  context: WriteContext,
): Generator<void, WriteSet, void> {
  const stamp = stampOf(context);
  const staged = new Map<string, Staged>();
  const results: Applied[] = [];
  for (const operation of operations) {
    results.push(stageNext(operation, staged, context, stamp));
    yield;
  }
  // Created and deleted in one transaction: no trace is kept.
  const net = [...staged.values()].filter((s) => s.changed && (s.before ?? s.after.exists));
  const [only] = net;
  if (net.length <= 1) return encodeOne(results, only, context);
  const { revision, kept } = context;
  const records: EncodedRecord[] = [];
  const changes: Change[] = [];
  const touches: Touch[] = [];
  let bytes = 0;
  for (const [index, one] of net.entries()) {
    touches.push(touchOf(one, kept));
    const record = recordOf(one, index, net.length, context);
    bytes += record.size;
    records.push(record);
    changes.push(changeOf(one, record));
    yield;
  }
  return { revision, results, records, changes, touches, bytes };
}

function stageNext(
  operation: Operation,
  staged: Map<string, Staged>,
  context: WriteContext,
  stamp: Stamp,
): Applied {
  if (operation.op === 'checkKind') return stageCheck(operation, context);
  const id = `${operation.kind.kind} ${keyString(keyOfOperation(operation))}`;
  const earlier = staged.get(id);
  if (!earlier) {
    const first = stageFirst(operation, context, stamp);
    staged.set(id, first);
    return first.after;
  }
  const current = earlier.after.exists ? earlier.after.object : undefined;
  earlier.after = applyOperation(operation, current, stamp);
  earlier.changed ||= earlier.after.changed;
  earlier.statusOnly &&= isStatus(operation, earlier.after);
  deepFreeze(earlier.after.object);
  return earlier.after;
}

/** Most kinds have no index: their changes share this value. */
const touched: Touch = { statusOnly: false, indexed: [] };
const statusTouched: Touch = { statusOnly: true, indexed: [] };

function touchOf({ kind, key, before, after, statusOnly }: Staged, kept: KeptIndexes): Touch {
  const indexed = kept.changes(kind, key, before, after.exists ? after.object : undefined);
  if (indexed.length > 0) return { statusOnly, indexed };
  return statusOnly ? statusTouched : touched;
}

/** Encodes a set of at most one change. */
function encodeOne(
  results: readonly OperationResult[],
  only: Staged | undefined,
  context: WriteContext,
): WriteSet {
  const { revision, kept } = context;
  if (!only) return { revision, results, records: [], changes: [], touches: [], bytes: 0 };
  const touch = touchOf(only, kept);
  const record = recordOf(only, 0, 1, context);
  // Not with push: a list that grows allocates sixteen more entries, and watches keep the list of changes.
  const changes = [changeOf(only, record)];
  const bytes = record.size;
  return { revision, results, records: [record], changes, touches: [touch], bytes };
}

function typeOf({ before, after }: Staged): ChangeType {
  return !after.exists ? 'DELETED' : before ? 'MODIFIED' : 'ADDED';
}

/** Encodes the record of one change. @throws StatusError InvalidArgument (ObjectTooLarge) */
function recordOf(
  staged: Staged,
  index: number,
  count: number,
  { revision, at }: WriteContext,
): EncodedRecord {
  const { kind, key, before, after } = staged;
  const { object } = after;
  const { expiresAt } = object.metadata;
  const encoded = encodeRecord({
    revision,
    index,
    count,
    type: typeOf(staged),
    kind,
    key,
    json: JSON.stringify(object),
    at,
    expiresAt: expiresAt === undefined ? 0 : Date.parse(expiresAt),
    previous: before,
  });
  const { size } = encoded;
  if (size <= limits.objectBytesMax) return encoded;
  throw new StatusError({
    code: 'InvalidArgument',
    reason: 'ObjectTooLarge',
    message: `${kind} "${key}" has ${size} bytes, and at most ${limits.objectBytesMax} are allowed`,
  });
}

function changeOf(staged: Staged, record: EncodedRecord): Change {
  const { kind, key, before, after } = staged;
  const entry = new LazyObject(key, record, after.object);
  const type = typeOf(staged);
  return { kind, type, entry, before, predecessor: before, size: record.size };
}
