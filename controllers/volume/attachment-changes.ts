import { jsonEqual } from 'kedge';
import type { Attachment, Volume } from './kind.js';

/** The difference between the attachments of two states of a volume. */
export interface AttachmentChanges {
  /** Claims whose attachment was added, removed or changed. */
  readonly claims: readonly string[];
  /** Whether an attachment was added or removed. */
  readonly isMoved: boolean;
  /** Whether nothing differs except the attachments and the fields that follow from them. */
  readonly isAll: boolean;
}

/** Compares two states of a volume. Pure. */
export function attachmentChanges(one: Volume, other: Volume): AttachmentChanges {
  const before = byPlace(one);
  const after = byPlace(other);
  const claims = new Set<string>();
  let isMoved = false;
  for (const [place, { claim }] of [...before, ...after]) {
    const [first, second] = [before.get(place), after.get(place)];
    if (jsonEqual(first, second)) continue;
    claims.add(claim);
    if (!first || !second) isMoved = true;
  }
  const isAll = jsonEqual(withoutAttachments(one), withoutAttachments(other));
  return { claims: [...claims], isMoved, isAll };
}

function byPlace({ attachments = [] }: Volume): ReadonlyMap<string, Attachment> {
  return new Map(attachments.map((a) => [`${a.claim} ${a.node}`, a]));
}

/** The volume without its attachments, the fields that follow from them, resourceVersion and updatedAt. */
function withoutAttachments(volume: Volume): object {
  const { metadata, conditions = [] } = volume;
  return {
    ...volume,
    attachments: [],
    boundClaim: '',
    boundNode: '',
    conditions: conditions.filter(({ type }) => type !== 'Bound'),
    metadata: { ...metadata, resourceVersion: '', updatedAt: '' },
  };
}
