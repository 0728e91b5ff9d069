import type { Check } from '../check.js';
import { assert } from '../failure.js';
import { requireContent, writeContent } from '../content.js';
import { kindOf, requireRefusal } from '../require-kind.js';
import type { Trial } from '../trial.js';

/** The second node, which the need `otherNode` guarantees. */
function otherNode(trial: Trial): string {
  return trial.options.otherNode ?? trial.leaveOut('the option "otherNode" is not set');
}

function requireOneNode(trial: Trial): void {
  if (!trial.capabilities.accessModes.includes('ReadWriteOnce'))
    trial.leaveOut('the driver has no access mode ReadWriteOnce');
}

/** Checks that a volume is attached to the requested node, and to one node at a time. */
export const nodes: readonly Check[] = [
  {
    name: 'unknown-nodes-are-refused',
    behaviour: 'attach to an unknown node is rejected, and the volume stays unattached',
    needs: ['unknownNode'],
    body: async (trial) => {
      const { unknownNode = '' } = trial.options;
      const made = await trial.provision();
      const attached = (await trial.driver()).attach(trial.call(made, unknownNode));
      await requireRefusal(`attach to node "${unknownNode}"`, attached);
      await (await trial.driver()).attach(trial.call(made));
      // A volume that was detached by other means must not block the detach.
      await (await trial.driver()).detach(trial.call(made, unknownNode));
      await (await trial.driver()).detach(trial.call(made));
    },
  },
  {
    name: 'one-node-at-a-time',
    behaviour: 'a ReadWriteOnce volume attached to one node is not attached to a second one',
    needs: ['otherNode', 'content'],
    body: async (trial) => {
      requireOneNode(trial);
      const made = await trial.provision();
      const mounted = await trial.mount(made);
      await writeContent(mounted.path, 'first node');
      const attached = (await trial.driver()).attach(trial.call(made, otherNode(trial)));
      await requireRefusal('attach to a second node', attached);
      await requireContent(mounted.path, 'first node', 'after an attach to a second node');
      await trial.release(mounted);
      await (await trial.driver()).attach(trial.call(made, otherNode(trial)));
    },
  },
  {
    name: 'attach-steals-nothing',
    behaviour: 'attach to a second node does not detach an unmounted volume from the first one',
    needs: ['otherNode'],
    body: async (trial) => {
      requireOneNode(trial);
      const made = await trial.provision();
      const first = await (await trial.driver()).attach(trial.call(made));
      const attached = (await trial.driver()).attach(trial.call(made, otherNode(trial)));
      await requireRefusal('attach to a second node', attached);
      const again = await (await trial.driver()).attach(trial.call(made));
      assert(
        again.devicePath === first.devicePath,
        `the device on the first node changed from ${first.devicePath} to ${again.devicePath}`,
      );
    },
  },
  {
    name: 'refused-deletes-detach-nothing',
    behaviour: 'a volume whose deletion is rejected stays attached to its node',
    needs: ['otherNode', 'ownsData'],
    body: async (trial) => {
      requireOneNode(trial);
      const made = await trial.provision();
      await (await trial.driver()).attach(trial.call(made));
      await requireRefusal('delete of an attached volume', trial.delete(made));
      const attached = (await trial.driver()).attach(trial.call(made, otherNode(trial)));
      await requireRefusal('attach to a second node after a refused delete', attached);
    },
  },
  {
    name: 'detach-is-of-its-node',
    behaviour:
      'detach from a node where the volume is not attached keeps its attachment to another node',
    needs: ['otherNode'],
    body: async (trial) => {
      requireOneNode(trial);
      const made = await trial.provision();
      await (await trial.driver()).attach(trial.call(made));
      await kindOf((await trial.driver()).detach(trial.call(made, otherNode(trial))));
      const attached = (await trial.driver()).attach(trial.call(made, otherNode(trial)));
      await requireRefusal('attach to a second node after its detach', attached);
      await (await trial.driver()).detach(trial.call(made));
      await (await trial.driver()).attach(trial.call(made, otherNode(trial)));
    },
  },
];
