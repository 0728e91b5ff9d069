import { type DriverRegistry, nodeTopologyKey } from '@kedge/driver-sdk';
import type { Volume } from '../kind.js';

/** Whether the topology of a volume does not name a node, so that the first probe may have to find it. */
export function namesNoNode({ handle = '', topology }: Volume): boolean {
  return handle !== '' && topology?.[nodeTopologyKey] === undefined;
}

/** Whether the data of a driver's volumes is on one node. */
export async function isOnNodes(drivers: DriverRegistry, name: string): Promise<boolean> {
  const driver = await drivers.get(name);
  return driver?.capabilities().topologyKeys.includes(nodeTopologyKey) === true;
}

/**
 * The volume as its owner at a forced detach is determined: an attach in progress on another node is independent of the
 * detach, and may wait without limit. On the same node the volume stays attached.
 * @param node the node from which the driver is about to detach the volume: an attach there since prevents the call
 */
export function withoutReserved(volume: Volume, node?: string): Volume {
  const settled = volume.attachments?.filter(
    (attachment) => attachment.state !== 'Reserved' || attachment.node === node,
  );
  return settled === undefined ? volume : { ...volume, attachments: settled };
}

/** The nodes with an attachment of a volume, except the node of this process, which exists. */
export function holdingNodes({ attachments = [] }: Volume, node: string): readonly string[] {
  return attachments
    .filter((attachment) => attachment.state !== 'Detaching' && attachment.node !== node)
    .map((attachment) => attachment.node);
}
