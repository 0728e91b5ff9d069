import type { Check } from '../check.js';
import { labelOf, removeContent, requireContent, writeContent } from '../content.js';
import { assert } from '../failure.js';

/** Checks that written data is read again. */
export const data: readonly Check[] = [
  {
    name: 'content-survives',
    behaviour:
      'the content is complete after unmount, detach and a new driver instance, to the last byte',
    needs: ['content'],
    body: async (trial) => {
      const made = await trial.provision();
      const label = made.volume.uid;
      await trial.mounted(made, (path) => writeContent(path, label));
      await trial.mounted(made, (path) => requireContent(path, label, 'mounted again'), {
        mayFormat: false,
      });
      // Data of the user is left unchanged.
      await trial.mounted(made, (path) => removeContent(path), { mayFormat: false });
    },
  },
  {
    name: 'newest-content-wins',
    behaviour: 'overwritten content is found at each mount',
    needs: ['content', 'ownsData'],
    body: async (trial) => {
      const made = await trial.provision();
      for (const label of ['first', 'second', 'third'])
        await trial.mounted(made, async (path) => {
          await writeContent(path, label);
        });
      await trial.mounted(made, (path) => requireContent(path, 'third', 'after three versions'));
    },
  },
  {
    name: 'deletions-survive',
    behaviour: 'a removed file is absent after the volume is mounted again',
    needs: ['content', 'ownsData'],
    body: async (trial) => {
      const made = await trial.provision();
      await trial.mounted(made, (path) => writeContent(path, 'removed'));
      await trial.mounted(made, (path) => removeContent(path));
      const label = await trial.mounted(made, (path) => labelOf(path));
      assert(label === undefined, `the removed content "${label ?? ''}" exists again`);
    },
  },
  {
    name: 'calls-spare-neighbours',
    behaviour: 'no call for one volume changes the content of another, mounted or not',
    needs: ['content', 'ownsData'],
    body: async (trial) => {
      const idle = await trial.provision();
      await trial.mounted(idle, (path) => writeContent(path, 'idle'));
      const used = await trial.mount(await trial.provision());
      await writeContent(used.path, 'used');
      const spared = async (call: string): Promise<void> => {
        await requireContent(used.path, 'used', `in a mounted volume after ${call} of another`);
        await trial.mounted(idle, (path) =>
          requireContent(path, 'idle', `in an idle volume after ${call} of another`),
        );
      };
      const driver = await trial.driver();
      const made = await trial.provision();
      await trial.mounted(made, (path) => writeContent(path, 'made'));
      await spared('provision and mount');
      if (trial.capabilities.expand) {
        await driver.expand({ ...trial.call(made), sizeBytes: trial.sizeBytes * 2n });
        await spared('expand');
      }
      if (trial.capabilities.snapshots) {
        const snapshot = await trial.snapshot(made);
        const restored = await trial.restore(snapshot, undefined, trial.sizeBytes * 2n);
        await spared('snapshot and restore');
        await trial.delete(restored);
        await driver.deleteSnapshot({ ...trial.call(made), ...snapshot });
        await spared('deleteSnapshot');
      }
      await trial.delete(made);
      await spared('delete');
      await trial.release(used);
    },
  },
];
