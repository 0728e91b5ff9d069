import { DriverError } from '../../errors/errors.js';
import { mountOf } from './damage.js';
import type { Mutant } from './mutant.js';

/** Faults in the choice of the node. */
export const nodeMutants: readonly Mutant[] = [
  {
    name: 'wrong-node-accepted',
    breaks: 'An unknown node is treated as the node that the volume was provisioned for.',
    silent: true,
    killedBy: 'unknown-nodes-are-refused',
    change: (driver, memory) => ({
      attach: async (request) => {
        try {
          return await driver.attach(request);
        } catch (error) {
          const node = memory.volumes.get(request.volume.uid)?.node;
          if (!(error instanceof DriverError) || node === undefined) throw error;
          return driver.attach({ ...request, node });
        }
      },
    }),
  },
  {
    name: 'attached-on-two-nodes',
    breaks: 'A volume attached to one node is attached to a second one as well.',
    silent: true,
    killedBy: 'one-node-at-a-time',
    change: (driver, memory) => ({
      attach: async (request) => {
        const there = memory.attached.get(request.volume.uid);
        return there ? { devicePath: there.devicePath } : driver.attach(request);
      },
    }),
  },
  {
    name: 'attach-steals',
    breaks: 'Attach to a second node detaches the volume from the first one.',
    silent: true,
    killedBy: 'attach-steals-nothing',
    change: (driver, memory) => ({
      attach: async (request) => {
        const there = memory.attached.get(request.volume.uid);
        if (there && there.node !== request.node && !mountOf(memory, request.volume))
          await driver.detach(there);
        return driver.attach(request);
      },
    }),
  },
  {
    name: 'detach-from-any-node',
    breaks: 'Detach from one node detaches the volume from another node.',
    silent: true,
    killedBy: 'detach-is-of-its-node',
    change: (driver, memory) => ({
      detach: (request) => driver.detach(memory.attached.get(request.volume.uid) ?? request),
    }),
  },
];
