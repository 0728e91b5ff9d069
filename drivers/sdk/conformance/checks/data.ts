import type { Check } from '../check.js';
import { demandContent, labelOf, removeContent, writeContent } from '../content.js';
import { demand } from '../failure.js';

/** What was written is read again. */
export const data: readonly Check[] = [
  {
    name: 'content-survives',
    behaviour: 'content is whole after unmount, detach and a new instance, to the last byte',
    needs: ['content'],
    body: async (trial) => {
      const made = await trial.provision();
      const label = made.volume.uid;
      await trial.mounted(made, (path) => writeContent(path, label));
      await trial.mounted(made, (path) => demandContent(path, label, 'mounted again'), {
        mayFormat: false,
      });
      // What the user owns is left as it was found.
      await trial.mounted(made, (path) => removeContent(path), { mayFormat: false });
    },
  },
  {
    name: 'newest-content-wins',
    behaviour: 'content written over earlier content is the one that is found, mount after mount',
    needs: ['content', 'ownsData'],
    body: async (trial) => {
      const made = await trial.provision();
      for (const label of ['first', 'second', 'third'])
        await trial.mounted(made, async (path) => {
          await writeContent(path, label);
        });
      await trial.mounted(made, (path) => demandContent(path, 'third', 'after three versions'));
    },
  },
  {
    name: 'deletions-survive',
    behaviour: 'what was removed from a volume stays removed',
    needs: ['content', 'ownsData'],
    body: async (trial) => {
      const made = await trial.provision();
      await trial.mounted(made, (path) => writeContent(path, 'removed'));
      await trial.mounted(made, (path) => removeContent(path));
      const label = await trial.mounted(made, (path) => labelOf(path));
      demand(label === undefined, `the removed content "${label ?? ''}" is there again`);
    },
  },
];
