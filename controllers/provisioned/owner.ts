import { nodeTopologyKey } from '@kedge/driver-sdk';
import type { Attachment, Volume } from '../volume/kind.js';

/** The owner of a volume, which makes its driver calls. */
export type VolumeOwner =
  | {
      readonly type: 'node';
      readonly node: string;
      /**
       * `placed`: the data is on the node, so it stays the owner. `attached`: until all its attachments are removed or
       * marked `Detaching`, or another node has one.
       */
      readonly because: 'placed' | 'attached';
    }
  | {
      /** The volume controller; volumes on several nodes are detached by each node. */
      readonly type: 'controller';
      /**
       * Attachments that a node makes or ends, if there are several nodes: the controller waits for them. Those that are
       * `Detaching` are not among them, because the controller ends them.
       */
      readonly underWay: readonly Attachment[];
    };

/**
 * The owner of a volume. It depends on the volume alone, so that only a transaction on the volume transfers
 * ownership. The controller detaches an attachment that is marked `Detaching`. Pure.
 */
export function ownerOf({
  topology,
  attachments = [],
}: Pick<Volume, 'topology' | 'attachments'>): VolumeOwner {
  const placed = topology?.[nodeTopologyKey];
  if (placed !== undefined) return { type: 'node', node: placed, because: 'placed' };
  const nodes = [...new Set(attachments.map(({ node }) => node))];
  const [node] = nodes;
  if (node === undefined) return { type: 'controller', underWay: [] };
  if (nodes.length > 1) {
    const isSettled = (state: Attachment['state']): boolean =>
      state === 'Attached' || state === 'Detaching';
    const underWay = attachments.filter(({ state }) => !isSettled(state));
    return { type: 'controller', underWay };
  }
  return attachments.some(({ state }) => state !== 'Detaching')
    ? { type: 'node', node, because: 'attached' }
    : { type: 'controller', underWay: [] };
}

/** The nodes that are relevant for a volume: their changes may unblock it. */
export function nodesOf({
  topology,
  attachments = [],
}: Pick<Volume, 'topology' | 'attachments'>): readonly string[] {
  const placed = topology?.[nodeTopologyKey];
  const holders = attachments.map(({ node }) => node);
  return [...new Set(placed === undefined ? holders : [placed, ...holders])];
}

/** The node that permanently has a volume's data; undefined if the provider can reach it from anywhere. */
export function homeOf(volume: Pick<Volume, 'topology'>): string | undefined {
  const owner = ownerOf({ ...volume, attachments: [] });
  return owner.type === 'node' ? owner.node : undefined;
}
