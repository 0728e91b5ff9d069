import { messageForm } from '@kedge/driver-sdk/messages';

/** A volume restricts its instance to nodes with labels, `key=value`. */
export const reachableFrom = messageForm(
  'volume {volume} is reachable only from nodes with {{labels[]}}',
);

/** Parameters do not contain the location of a volume, and no node has its labels. */
export const locationMissing = messageForm(
  'its parameters do not contain {parameters[]}, and no node has the label {labels[]}; set',
);

/** A node has too little of a resource, `cpu`, `memory` or `pids`; quantities with units. */
export const shortage = messageForm('{free} of {total} {resource} free, {requested} is requested');

/** The free room of a node is kept for an instance that comes to it once its volumes are provisioned. */
export const roomReservedFor = messageForm(
  'room is reserved for instance {instance}, which waits for its volumes',
);

/** An instance of a volume keeps the volume from other places. */
export const placedThere = messageForm('instance {instance} is placed there');

/** The topology of a volume is not known before it is provisioned. */
export const provisionedFirst = messageForm('it is known once volume {volume} is provisioned');

/** An instance uses a host port, such as `80/TCP`. */
export const portTakenBy = messageForm(
  'port {port} of node {node} is taken by instance {instance}',
);

/** A host port is kept for an instance that comes to the node once its volumes are provisioned. */
export const portReservedFor = messageForm(
  'port {port} of node {node} is reserved for instance {instance}, which waits for its volumes',
);
