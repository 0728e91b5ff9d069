import { nodeTopologyKey } from '@kedge/driver-sdk';
import type { Attachment, Volume } from '../kind.js';

/** Who calls the driver for a volume. */
export type VolumeOwner =
  | {
      readonly type: 'node';
      readonly node: string;
      /** `placed`: the data is on the node, so it stays the owner. `attached`: until it is detached. */
      readonly because: 'placed' | 'attached';
    }
  | {
      /** The volume controller; what is attached to several nodes each of them detaches by itself. */
      readonly type: 'controller';
      /** Work of nodes on it, of several: the controller waits for its end. */
      readonly underWay: readonly Attachment[];
    };

/**
 * Who owns a volume. It follows from the volume alone, so that only a transaction on the volume passes it
 * on. An attachment that was marked `Detaching` is the controller's to take away. Pure.
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
    const underWay = attachments.filter(({ state }) => state !== 'Attached');
    return { type: 'controller', underWay };
  }
  return attachments.some(({ state }) => state !== 'Detaching')
    ? { type: 'node', node, because: 'attached' }
    : { type: 'controller', underWay: [] };
}

/** Nodes that a volume has to do with: a change of them may change what it waits for. */
export function nodesOf({
  topology,
  attachments = [],
}: Pick<Volume, 'topology' | 'attachments'>): readonly string[] {
  const placed = topology?.[nodeTopologyKey];
  const holders = attachments.map(({ node }) => node);
  return [...new Set(placed === undefined ? holders : [placed, ...holders])];
}

/** The node that has a volume's data for good; undefined where the provider can reach it from anywhere. */
export function homeOf(volume: Pick<Volume, 'topology'>): string | undefined {
  const owner = ownerOf({ ...volume, attachments: [] });
  return owner.type === 'node' ? owner.node : undefined;
}
