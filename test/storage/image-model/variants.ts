import { KeyedQueue } from '@kedge/driver-sdk';
import { type NodeParts, soundNode } from './node-life.js';

/**
 * A snapshot waits for no other call of its volume, and no other call waits for it: an idle image is attached
 * during a copy.
 */
export const copiesTakeNoTurn: NodeParts = {
  ...soundNode,
  driver: async (fake) => {
    const { root, journal, host } = fake;
    const driver = await soundNode.driver(fake);
    const turns = new KeyedQueue();
    const other = await soundNode.driver({ root, journal, host: { ...host, turns } });
    return { ...driver, createSnapshot: (request) => other.createSnapshot(request) };
  },
};

/** File systems stay frozen if daemon and copy process are killed together. */
export const freezesStay: NodeParts = { ...soundNode, thaw: () => Promise.resolve() };
