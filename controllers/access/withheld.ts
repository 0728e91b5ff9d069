import {
  type ApiObject,
  type Condition,
  type EffectRecord,
  type FieldViolation,
  isDeleting,
  jsonEqual,
} from 'kedge';
import { agentFinalizer } from '../instance/index.js';
import { type Snapshot, snapshots } from '../snapshot/kind.js';
import { type Attachment, type Volume, type VolumePhase, volumes } from '../volume/kind.js';
import type { Node } from '../node/kind.js';
import { deletedCondition } from '../provisioned/conditions.js';
import { isDeletionAsked } from '../volume/states/deletion-report.js';
import { effectsOfNode, effectsWithoutNode } from '../provisioned/operations.js';
import { reportedOfSnapshot } from '../snapshot/reported.js';
import { reportedConditions, reportedOfVolume } from '../volume/states/reported.js';

/** A write by a node's agent. */
export interface NodeWrite<T> {
  /** The node of the agent. */
  readonly node: string;
  readonly before: T;
  readonly after: T;
}

/**
 * The status fields of a volume that each node with access to it may write. A node that has its data also writes those
 * of {@link reportedOfVolume}. Rights and decisions of controllers depend on the others.
 */
const reported: ReadonlySet<string> = new Set([
  'status',
  'boundClaim',
  'boundNode',
  'failureMessage',
  'reason',
  'conditions',
  'attachments',
  'formatted',
  'lastOperation',
  'usedBytes',
  'totalBytes',
  'usedInodes',
  'totalInodes',
] satisfies (typeof volumes)['statusFields'][number][]);
/** Phases that result from attach and detach. */
const attachPhases: readonly unknown[] = ['Available', 'Bound', 'Stalled'];
const attachConditions: readonly string[] = ['Bound', 'FileSystemResizePending', 'SpaceLow'];

/** Compares values. An absent field equals an empty one. */
function same(a: unknown, b: unknown): boolean {
  return jsonEqual(a, b) || (isEmpty(a) && isEmpty(b));
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === '' || value === 0 || value === false) return true;
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

function changed<T extends object>({ before, after }: NodeWrite<T>, field: keyof T): boolean {
  return !same(before[field], after[field]);
}

/** Conditions of other types. An agent returns what it read: an absent generation as 0. */
function otherConditions(
  all: readonly Condition[] = [],
  types: readonly string[],
): readonly object[] {
  return all.flatMap((one) => (types.includes(one.type) ? [] : { observedGeneration: 0, ...one }));
}

/** The types of conditions that a node may write, including the report of a deletion if the cluster requested one. */
function withAnswer(isAsked: boolean, types: readonly string[]): readonly string[] {
  return isAsked ? [...types, deletedCondition] : types;
}

/** Whether a driver call can have this result. Only the cluster decides to start calls. */
function isCallsEnd(before: VolumePhase, after: VolumePhase | undefined): boolean {
  switch (after) {
    case 'Available':
    case 'Bound':
    case 'Stalled':
      return before !== 'Pending' && before !== 'Released';
    case 'Failed':
      return before !== 'Pending';
    case 'Provisioning':
      return before === 'Stalled';
    default:
      return false;
  }
}

/**
 * The violations of a node's write to the status of a snapshot.
 * @param owned as in {@link VolumeFacts}
 */
export function withheldOfSnapshot(
  before: Snapshot,
  after: Snapshot,
  owned: boolean,
): readonly FieldViolation[] {
  const found: FieldViolation[] = [];
  for (const field of snapshots.statusFields) {
    if (same(before[field], after[field]) || (owned && reportedOfSnapshot.has(field))) continue;
    found.push({ field, description: 'is written only by controllers; omit it' });
  }
  const ends = before.status === 'Creating' ? ['Ready', 'Failed'] : ['Failed'];
  const mayEnd = before.status === 'Creating' || before.status === 'Ready';
  if (before.status !== after.status && !(mayEnd && ends.includes(after.status ?? '')))
    found.push({
      field: 'status',
      description: `the transition from ${before.status ?? 'Pending'} to ${after.status ?? 'Pending'} is made only by the snapshot controller`,
    });
  const types = withAnswer(isDeleting(before) && before.status === 'Deleting', ['Ready']);
  if (!same(otherConditions(before.conditions, types), otherConditions(after.conditions, types)))
    found.push({
      field: 'conditions',
      description: `a node writes only conditions of types ${types.join(', ')}`,
    });
  return found;
}

/** Facts about the cluster for the check of a volume's status. */
export interface VolumeFacts {
  /** Whether the topology restricts the volume to this node, and its driver needs no credentials. */
  readonly owned: boolean;
  /** Whether a claim belongs to an instance that is bound to this node and mounts the volume. */
  readonly isClaimHere: (claim: string) => boolean;
}

/** The violations of a node's write to the status of a volume. */
export function withheldOfVolume(
  write: NodeWrite<Volume>,
  facts: VolumeFacts,
): readonly FieldViolation[] {
  const { node, before, after } = write;
  const found: FieldViolation[] = [];
  const refuse = (field: string, description: string): void => {
    found.push({ field, description });
  };
  for (const field of volumes.statusFields) {
    if (reported.has(field) || !changed(write, field)) continue;
    if (facts.owned && reportedOfVolume.has(field)) continue;
    refuse(field, 'is written only by controllers; omit it');
  }
  if (changed(write, 'status')) {
    const phases = [before.status ?? 'Pending', after.status ?? 'Pending'];
    const isCalled = facts.owned && isCallsEnd(before.status ?? 'Pending', after.status);
    if (!isCalled && !phases.every((phase) => attachPhases.includes(phase)))
      refuse(
        'status',
        `the transition from ${phases.join(' to ')} is made only by the volume controller; a node writes transitions between ${attachPhases.join(', ')}`,
      );
  }
  found.push(...withheldAttachments(write, facts));
  const holders = after.attachments ?? [];
  const others = holders.filter((attachment) => attachment.node !== node);
  if (changed(write, 'status') && after.status === 'Available' && others.length > 0)
    refuse('status', `only a volume without attachments is Available, and ${shown(others)}`);
  if (changed(write, 'boundClaim') && !isNamed(after.boundClaim, holders, 'claim'))
    refuse(
      'boundClaim',
      `${JSON.stringify(after.boundClaim)} is not a claim of one of its attachments`,
    );
  if (changed(write, 'boundNode') && !isNamed(after.boundNode, holders, 'node'))
    refuse(
      'boundNode',
      `${JSON.stringify(after.boundNode)} is not a node of one of its attachments`,
    );
  if (changed(write, 'formatted') && before.formatted === true)
    refuse('formatted', 'must stay true: a formatted device is never formatted again');
  const mine = facts.owned ? [...attachConditions, ...reportedConditions] : attachConditions;
  const isAsked = facts.owned && isDeleting(before) && isDeletionAsked(before);
  const types = withAnswer(isAsked, mine);
  if (!same(otherConditions(before.conditions, types), otherConditions(after.conditions, types)))
    refuse(
      'conditions',
      `a node writes only conditions of types ${types.join(', ')}; leave the others unchanged`,
    );
  return found;
}

function isNamed(
  value: string | undefined,
  holders: readonly Attachment[],
  part: 'claim' | 'node',
): boolean {
  return !value || holders.some((attachment) => attachment[part] === value);
}

function shown(attachments: readonly Attachment[]): string {
  return attachments
    .map(({ claim, node }) => `it is attached for ${claim} on node ${node}`)
    .join(', ');
}

/** A node writes only its own attachments; new ones belong to its instances. It neither sets nor reverts Detaching. */
function withheldAttachments(
  { node, before, after }: NodeWrite<Volume>,
  { isClaimHere }: VolumeFacts,
): readonly FieldViolation[] {
  const field = 'attachments';
  const known = before.attachments ?? [];
  const next = after.attachments ?? [];
  const foreign = (all: readonly Attachment[]) => all.filter((a) => a.node !== node);
  if (!same(foreign(known), foreign(next)))
    return [
      { field, description: `node ${node} is not permitted to change attachments of other nodes` },
    ];
  const mine = next.filter((a) => a.node === node);
  const claims = new Set(next.map(({ claim }) => claim));
  if (claims.size < next.length) return [{ field, description: 'a claim is listed twice' }];
  const found: FieldViolation[] = [];
  for (const attachment of mine) {
    const { claim } = attachment;
    const old = known.find((a) => a.claim === claim);
    if (old?.state === 'Detaching' && !jsonEqual(old, attachment))
      found.push({ field, description: `${claim} is being detached, which can't be reverted` });
    if (old) continue;
    if (attachment.state === 'Detaching')
      found.push({
        field,
        description: `state Detaching of ${claim} is written only by the volume controller`,
      });
    if (!isClaimHere(claim))
      found.push({
        field,
        description: `${claim} is not an instance that is bound to node ${node} and mounts this volume`,
      });
    else if (next.length > 1 && after.accessMode === 'ReadWriteOnce')
      found.push({
        field,
        description: `the volume is ReadWriteOnce and can't be attached for ${claim} as well`,
      });
    else if (isDeleting(after))
      found.push({
        field,
        description: `the volume is being deleted and can't be attached for ${claim}`,
      });
  }
  return found;
}

/** A node may not write the fields that decide which instances it runs. */
export function withheldOfNode(before: Node | undefined, after: Node): readonly FieldViolation[] {
  const fields = ['labels', 'unschedulable'] as const;
  return fields
    .filter((field) => !same(before?.[field], after[field]))
    .map((field) => ({
      field,
      description:
        'decides which instances are scheduled to the node and is written only by administrators; omit it',
    }));
}

/**
 * The names of the effects of a volume that the node's agent may write. All other effects belong to controllers and
 * other nodes.
 */
function effectsOfAgent(node: string, owns: boolean): readonly string[] {
  return [...effectsOfNode(node), ...(owns ? effectsWithoutNode : [])];
}

function effectsOfOthers(
  record: EffectRecord | undefined,
  own: readonly string[],
): Readonly<Record<string, unknown>> {
  const all = Object.entries(record?.effects ?? {});
  return Object.fromEntries(all.filter(([name]) => !own.includes(name)));
}

/**
 * Whether a record contains only effects of the agent, so that the agent may delete it.
 * @param owns as in withheldOfRecord
 */
export function isAgentsAlone(record: EffectRecord, node: string, owns: boolean): boolean {
  return isEmpty(effectsOfOthers(record, effectsOfAgent(node, owns)));
}

/**
 * A node may change only the effects of its agent, not those of controllers and other nodes.
 * @param owns whether the node owns the volume: it also continues effects recorded without a node
 */
export function withheldOfRecord(
  { node, before, after }: NodeWrite<EffectRecord | undefined>,
  owns: boolean,
): readonly FieldViolation[] {
  const own = effectsOfAgent(node, owns);
  if (same(effectsOfOthers(before, own), effectsOfOthers(after, own))) return [];
  const description = `a node writes only ${own.join(' and ')}; leave the others unchanged`;
  return [{ field: 'effects', description }];
}

/** An agent may remove only its own finalizer from an instance. */
export function withheldFinalizers(before: ApiObject, after: ApiObject): readonly FieldViolation[] {
  const left = (before.metadata.finalizers ?? []).filter((name) => name !== agentFinalizer);
  if (same(after.metadata.finalizers, left)) return [];
  const description = `an agent removes only ${agentFinalizer}; leave the others unchanged`;
  return [{ field: 'metadata.finalizers', description }];
}
