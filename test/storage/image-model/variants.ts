import { KeyedQueue } from '@kedge/driver-sdk';
import { type NodeParts, soundNode } from './node-life.js';

/** A snapshot waits for no other call of its volume, and none waits for it: an idle image is attached while it is copied. */
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

/** What daemon and copier left frozen when they were killed together stays so. */
export const freezesStay: NodeParts = { ...soundNode, thaw: () => Promise.resolve() };
