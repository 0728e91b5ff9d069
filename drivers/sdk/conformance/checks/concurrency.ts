import { readMountTable } from '../../node/mount-table.js';
import type { Check } from '../check.js';
import { assert } from '../failure.js';
import { requireContent, requireEmpty, writeContent } from '../content.js';
import { kindOf } from '../require-kind.js';

const timesAtOnce = 4;

/** Makes the same call concurrently, each time on a separate driver instance. */
async function atOnce<T>(call: () => Promise<T>): Promise<readonly T[]> {
  return Promise.all(Array.from({ length: timesAtOnce }, call));
}

function requireOneValue(what: string, values: readonly string[]): void {
  const different = new Set(values);
  assert(different.size === 1, `concurrent calls of ${what} returned ${[...different].join(', ')}`);
}

/** Checks of concurrent calls. */
export const concurrency: readonly Check[] = [
  {
    name: 'provisions-at-once-make-one',
    behaviour:
      'concurrent calls of provision for one volume create one resource, which is complete at the answer',
    needs: [],
    body: async (trial) => {
      const volume = trial.identity();
      const inventory = async (): Promise<readonly string[]> =>
        (await trial.options.inventory?.()) ?? [];
      const before = new Set(await inventory());
      const made = await atOnce(() => trial.provision(volume));
      requireOneValue(
        'provision',
        made.map(({ handle }) => handle),
      );
      const [{ handle } = { handle: '' }] = made;
      // The deletion must remove everything; the inventory shows leaked resources.
      await trial.delete({ volume, handle });
      const left = (await inventory()).filter((item) => !before.has(item));
      if (trial.capabilities.ownsData)
        assert(
          left.length === 0,
          `resources remain after the volume was deleted: ${left.join(', ')}`,
        );
    },
  },
  {
    name: 'volumes-at-once-are-separate',
    behaviour:
      'volumes that are provisioned concurrently share nothing, and can be mounted concurrently',
    needs: ['ownsData', 'content'],
    body: async (trial) => {
      const made = await atOnce(() => trial.provision());
      assert(
        new Set(made.map(({ handle }) => handle)).size === made.length,
        'the volumes share a handle',
      );
      for (const one of made)
        await trial.mounted(one, async (path) => {
          await requireEmpty(path, 'provisioned concurrently with others');
          await writeContent(path, one.volume.uid);
        });
      await Promise.all(
        made.map((one) =>
          trial.mounted(one, (path) =>
            requireContent(path, one.volume.uid, 'mounted concurrently with others'),
          ),
        ),
      );
    },
  },
  {
    name: 'attaches-at-once-give-one-device',
    behaviour: 'concurrent calls of attach return one device, and detach removes it completely',
    needs: ['content', 'ownsData'],
    body: async (trial) => {
      const made = await trial.provision();
      await trial.device(made);
      await (await trial.driver()).detach(trial.call(made));
      const attached = await atOnce(async () => (await trial.driver()).attach(trial.call(made)));
      requireOneValue(
        'attach',
        attached.map(({ devicePath }) => devicePath),
      );
    },
  },
  {
    name: 'mounts-at-once-mount-once',
    behaviour: 'concurrent calls of mount leave one mount',
    needs: ['content', 'ownsData'],
    body: async (trial) => {
      const made = await trial.provision();
      const request = await trial.mountRequest(made);
      const mounted = await atOnce(() => trial.mountAs(request));
      requireOneValue(
        'mount',
        mounted.map(({ path }) => path),
      );
      const there = (await readMountTable()).filter((entry) => entry.target === request.target);
      assert(there.length <= 1, `${there.length} mounts are stacked at the target`);
      const [first] = mounted;
      if (!first) return;
      await writeContent(first.path, 'at once');
      await trial.release(first);
      await trial.mounted(made, (path) => requireContent(path, 'at once', 'mounted concurrently'));
    },
  },
  {
    name: 'one-node-wins',
    behaviour: 'at most one of two concurrent attaches to different nodes succeeds',
    needs: ['otherNode'],
    body: async (trial) => {
      if (!trial.capabilities.accessModes.includes('ReadWriteOnce'))
        trial.leaveOut('the driver has no access mode ReadWriteOnce');
      const made = await trial.provision();
      const { node } = trial;
      const { otherNode = '' } = trial.options;
      const attach = async (to: string): Promise<boolean> =>
        (await kindOf((await trial.driver()).attach(trial.call(made, to)))) === undefined;
      const won = await Promise.all([node, otherNode, node, otherNode].map(attach));
      const [here, there] = [won[0] || won[2], won[1] || won[3]];
      assert(!(here && there), `the attaches to "${node}" and to "${otherNode}" both succeeded`);
    },
  },
  {
    name: 'snapshots-are-of-their-call',
    behaviour:
      'a snapshot that the provider still completes does not contain writes after the call',
    needs: ['snapshots', 'content'],
    body: async (trial) => {
      const source = await trial.provision();
      await trial.mounted(source, (path) => writeContent(path, 'before'));
      const identity = trial.snapshotIdentity();
      await (await trial.driver()).createSnapshot(trial.snapshotRequest(source, identity));
      await trial.mounted(source, (path) => writeContent(path, 'after'));
      const restored = await trial.restore(await trial.snapshot(source, identity));
      await trial.mounted(restored, (path) =>
        requireContent(path, 'before', 'restored from a snapshot that was completed later'),
      );
    },
  },
  {
    name: 'snapshots-at-once-make-one',
    behaviour: 'concurrent calls of snapshot create one snapshot, which is complete',
    needs: ['snapshots', 'content'],
    body: async (trial) => {
      const source = await trial.provision();
      await trial.mounted(source, (path) => writeContent(path, 'source'));
      const identity = trial.snapshotIdentity();
      const made = await atOnce(() => trial.snapshot(source, identity));
      requireOneValue(
        'createSnapshot',
        made.map(({ handle }) => handle),
      );
      const [first] = made;
      if (!first) return;
      const volume = trial.identity();
      const restored = await atOnce(() => trial.restore(first, volume));
      requireOneValue(
        'restore',
        restored.map(({ handle }) => handle),
      );
      const { handle } = restored[0] ?? { handle: '' };
      await trial.mounted({ volume, handle }, (path) =>
        requireContent(path, 'source', 'restored by concurrent calls'),
      );
    },
  },
];
