import { messageForm } from '@kedge/driver-sdk/messages';

/** A call waits for the node that has the data or the device of a volume. */
export const waitsForNode = messageForm('waits for node "{node}", which');

/** Deleted nodes that had attachments, instances or data. */
export const nodesDeleted = messageForm('node {nodes[]} was deleted');

/** The node that has the data of a snapshot's source was deleted. */
export const sourceNodeDeleted = messageForm(
  'node {node}, which has the data of its source, was deleted',
);

/** The node on which a volume was to be provisioned was deleted. */
export const provisioningNodeDeleted = messageForm(
  'node {node}, which was to provision the volume, was deleted',
);
