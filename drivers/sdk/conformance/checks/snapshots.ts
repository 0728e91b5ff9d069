import type { Check } from '../check.js';
import { assert } from '../failure.js';
import {
  requireContent,
  requireLargeFile,
  requireOwned,
  syncContent,
  writeContent,
  writeLarge,
  writeOwned,
} from '../content.js';
import { deviceBytes } from '../device-bytes.js';
import { uidsAlike } from '../uids-alike.js';
import { requireKind } from '../require-kind.js';
import type { Made, MadeSnapshot } from '../created-resources.js';
import type { Trial } from '../trial.js';

async function written(trial: Trial, label: string): Promise<Made> {
  const made = await trial.provision();
  await trial.mounted(made, (path) => writeContent(path, label));
  return made;
}

/** Restores into a new volume and checks its content. */
async function requireRestored(
  trial: Trial,
  snapshot: MadeSnapshot,
  label: string,
  when: string,
): Promise<Made> {
  const restored = await trial.restore(snapshot);
  await trial.mounted(restored, (path) => requireContent(path, label, when), { mayFormat: false });
  return restored;
}

const needs = ['content', 'snapshots'] as const;

/** Checks that a snapshot has the content of one source at one time, independent of other writes. */
export const snapshots: readonly Check[] = [
  {
    name: 'snapshots-are-of-their-time',
    behaviour: 'a snapshot does not contain later writes',
    needs,
    body: async (trial) => {
      const source = await written(trial, 'before');
      const snapshot = await trial.snapshot(source);
      await trial.mounted(source, (path) => writeContent(path, 'after'));
      await requireRestored(trial, snapshot, 'before', 'restored after the source was written');
      await trial.mounted(source, (path) => requireContent(path, 'after', 'in the source'));
    },
  },
  {
    name: 'snapshots-of-mounted-volumes',
    behaviour:
      'a snapshot of a mounted volume contains the data that was synced before, and the volume stays usable',
    needs,
    body: async (trial) => {
      const source = await trial.provision();
      const mounted = await trial.mount(source);
      await writeContent(mounted.path, 'before');
      await syncContent(mounted.path);
      const snapshot = await trial.snapshot(source);
      await writeContent(mounted.path, 'after');
      await trial.release(mounted);
      await requireRestored(trial, snapshot, 'before', 'restored from a mounted source');
      await trial.mounted(source, (path) => requireContent(path, 'after', 'in the source'));
    },
  },
  {
    name: 'snapshots-are-made-once',
    behaviour: 'a repeated snapshot call returns the first snapshot, with the same point in time',
    needs,
    body: async (trial) => {
      const source = await written(trial, 'before');
      const snapshot = await trial.snapshot(source);
      await trial.mounted(source, (path) => writeContent(path, 'after'));
      const again = await trial.snapshot(source, snapshot.snapshot);
      assert(again.handle === snapshot.handle, `the second answer has handle ${again.handle}`);
      await requireRestored(trial, snapshot, 'before', 'restored after a repeated snapshot call');
    },
  },
  {
    name: 'snapshots-outlive-their-source',
    behaviour: 'a snapshot is restored after its source was deleted',
    needs,
    body: async (trial) => {
      const source = await written(trial, 'source');
      const snapshot = await trial.snapshot(source);
      await trial.delete(source);
      await requireRestored(trial, snapshot, 'source', 'restored after its source was deleted');
    },
  },
  {
    name: 'restore-gives-its-snapshot',
    behaviour: 'each of several snapshots of several volumes is restored with its own content',
    needs,
    body: async (trial) => {
      const one = await written(trial, 'one-early');
      const early = await trial.snapshot(one);
      await trial.mounted(one, (path) => writeContent(path, 'one-late'));
      const late = await trial.snapshot(one);
      const other = await trial.snapshot(await written(trial, 'two'));
      await requireRestored(
        trial,
        early,
        'one-early',
        'restored from the first of three snapshots',
      );
      await requireRestored(trial, late, 'one-late', 'restored from the second of three snapshots');
      await requireRestored(trial, other, 'two', 'restored from the third of three snapshots');
    },
  },
  {
    name: 'restored-volumes-are-separate',
    behaviour:
      'writes to a restored volume appear in neither its snapshot, its source nor its siblings',
    needs,
    body: async (trial) => {
      const source = await written(trial, 'source');
      const snapshot = await trial.snapshot(source);
      const first = await requireRestored(trial, snapshot, 'source', 'restored');
      await trial.mounted(first, (path) => writeContent(path, 'first'));
      await requireRestored(trial, snapshot, 'source', 'restored after a sibling was written');
      await trial.mounted(source, (path) =>
        requireContent(path, 'source', 'after a restored volume was written'),
      );
      await trial.delete(first);
      await requireRestored(trial, snapshot, 'source', 'restored after a sibling was deleted');
    },
  },
  {
    name: 'snapshots-are-separate',
    behaviour:
      'snapshots with different uids share neither handle nor content, also with the same name',
    needs,
    body: async (trial) => {
      const labels = ['one', 'two', 'three'];
      const identities = uidsAlike().map((uid) => trial.snapshotIdentity(uid, 'conformance-alike'));
      const taken: MadeSnapshot[] = [];
      for (const [n, identity] of identities.entries()) {
        const source = await written(trial, labels[n] ?? '');
        const namespace = n === 1 ? 'another' : 'default';
        taken.push(await trial.snapshot(source, { ...identity, namespace }));
      }
      const handles = new Set(taken.map(({ handle }) => handle));
      assert(
        handles.size === taken.length,
        `objects with different uids share a handle: ${[...handles].join(', ')}`,
      );
      for (const [n, snapshot] of taken.entries())
        await requireRestored(trial, snapshot, labels[n] ?? '', 'restored with the name of others');
    },
  },
  {
    name: 'restored-volumes-outlive-their-source',
    behaviour: 'a restored volume keeps its content after source and snapshot are deleted',
    needs,
    body: async (trial) => {
      const source = await written(trial, 'source');
      const snapshot = await trial.snapshot(source);
      const restored = await requireRestored(trial, snapshot, 'source', 'restored');
      await trial.delete(source);
      await trial.mounted(restored, (path) =>
        requireContent(path, 'source', 'after the source was deleted'),
      );
      await (await trial.driver()).deleteSnapshot({ ...trial.call(source), ...snapshot });
      await trial.mounted(restored, (path) =>
        requireContent(path, 'source', 'after the snapshot was deleted'),
      );
    },
  },
  {
    name: 'large-files-survive',
    behaviour: 'a restored volume contains a file of several mebibytes completely',
    needs,
    body: async (trial) => {
      const source = await trial.provision();
      await trial.mounted(source, (path) => writeLarge(path, source.volume.uid));
      const restored = await trial.restore(await trial.snapshot(source));
      for (const made of [source, restored])
        await trial.mounted(made, (path) => requireLargeFile(path, source.volume.uid, 'restored'));
    },
  },
  {
    name: 'owners-survive',
    behaviour: 'files of a restored volume keep their owners',
    needs,
    body: async (trial) => {
      if (process.getuid?.() !== 0) trial.leaveOut('changing the owner of files needs root');
      const source = await trial.provision();
      await trial.mounted(source, writeOwned);
      const restored = await trial.restore(await trial.snapshot(source));
      for (const made of [source, restored])
        await trial.mounted(made, (path) => requireOwned(path, 'restored'));
    },
  },
  {
    name: 'restored-sizes-are-real',
    behaviour:
      'a volume that is restored to a larger size has at least the requested size and the whole content',
    needs,
    body: async (trial) => {
      const source = await written(trial, 'source');
      const snapshot = await trial.snapshot(source);
      const asked = trial.sizeBytes * 2n;
      const restored = await trial.restore(snapshot, undefined, asked);
      assert(
        restored.sizeBytes >= asked,
        `the volume has ${restored.sizeBytes} bytes, not ${asked}`,
      );
      await trial.mounted(restored, (path) => requireContent(path, 'source', 'restored larger'));
      const bytes = await deviceBytes(await trial.device(restored));
      assert(
        bytes >= asked,
        `restore returns ${restored.sizeBytes} bytes, and the device has ${bytes}`,
      );
    },
  },
  {
    name: 'absent-snapshots-are-not-restored',
    behaviour: 'restore of an absent snapshot is NotFound, and creates no volume',
    needs: ['snapshots'],
    body: async (trial) => {
      const source = await trial.provision();
      const snapshot = await trial.snapshot(source);
      const driver = await trial.driver();
      await driver.deleteSnapshot({ ...trial.call(source), ...snapshot });
      const volume = trial.identity();
      await requireKind('restore', trial.restore(snapshot, volume), 'NotFound');
      const observed = driver.observe({ ...trial.context(volume), handle: undefined });
      await requireKind('observe of a volume that was not restored', observed, 'NotFound');
    },
  },
  {
    name: 'deleted-snapshots-are-gone',
    behaviour:
      'a deleted snapshot is NotFound; a new one under its identity has the current content',
    needs,
    body: async (trial) => {
      const source = await written(trial, 'before');
      const snapshot = await trial.snapshot(source);
      const driver = await trial.driver();
      const request = { ...trial.call(source), ...snapshot };
      const found = await driver.observeSnapshot(request);
      assert(found.handle === snapshot.handle, `observe returns handle ${found.handle}`);
      await driver.deleteSnapshot(request);
      await driver.deleteSnapshot(request);
      for (const handle of [snapshot.handle, undefined]) {
        const observed = driver.observeSnapshot({ ...request, handle });
        await requireKind('observe of a deleted snapshot', observed, 'NotFound');
      }
      await trial.mounted(source, (path) => writeContent(path, 'after'));
      const anew = await trial.snapshot(source, snapshot.snapshot);
      await requireRestored(trial, anew, 'after', 'restored from a snapshot created again');
    },
  },
  {
    name: 'deleting-snapshots-spares-others',
    behaviour: 'a deletion of a snapshot keeps its source, other snapshots and restored volumes',
    needs,
    body: async (trial) => {
      const source = await written(trial, 'early');
      const doomed = await trial.snapshot(source);
      const restored = await trial.restore(doomed);
      await trial.mounted(source, (path) => writeContent(path, 'late'));
      const kept = await trial.snapshot(source);
      await (await trial.driver()).deleteSnapshot({ ...trial.call(source), ...doomed });
      await trial.mounted(source, (path) => requireContent(path, 'late', 'in the source'));
      await trial.mounted(restored, (path) =>
        requireContent(path, 'early', 'in the restored volume'),
      );
      await requireRestored(trial, kept, 'late', 'restored after another snapshot was deleted');
    },
  },
  {
    name: 'missing-snapshots-are-reported',
    behaviour: 'createSnapshot fails with Unsupported if the driver does not support snapshots',
    needs: [],
    body: async (trial) => {
      if (trial.capabilities.snapshots) trial.leaveOut('the driver supports snapshots');
      const made = await trial.provision();
      const request = trial.snapshotRequest(made, trial.snapshotIdentity());
      const created = (await trial.driver()).createSnapshot(request);
      await requireKind('createSnapshot', created, 'Unsupported');
    },
  },
];
