import type { Check } from '../check.js';
import { labelOf, requireContent, writeContent } from '../content.js';
import type { MadeSnapshot } from '../created-resources.js';
import { assert } from '../failure.js';
import { kindOf } from '../require-kind.js';
import type { Trial } from '../trial.js';

/** Deletes a snapshot without its handle, as after a crash. */
async function deleteUnknown(trial: Trial, { snapshot }: MadeSnapshot): Promise<void> {
  const { parameters, node, signal } = trial;
  const operations = trial.operationsOf(snapshot.uid);
  const request = { snapshot, handle: undefined, parameters, node, signal, operations };
  await (await trial.driver()).deleteSnapshot(request);
}

/** Checks that a handle reaches nothing but the resource of its identity, and that none is needed. */
export const handles: readonly Check[] = [
  {
    name: 'foreign-handles-show-nothing',
    behaviour:
      "observe with another volume's handle is rejected, or returns the volume of the identity",
    needs: ['ownsData'],
    body: async (trial) => {
      const mine = await trial.provision();
      const other = await trial.provision();
      const mixed = { volume: mine.volume, handle: other.handle };
      const driver = await trial.driver();
      const seen = await driver.observe(trial.call(mixed)).catch(() => undefined);
      assert(
        seen?.handle !== other.handle,
        `observe with the handle of another volume returns that volume, ${other.handle}`,
      );
    },
  },
  {
    name: 'foreign-handles-expand-nothing',
    behaviour: "expand with another volume's handle is rejected, or does not change that volume",
    needs: ['ownsData', 'expand'],
    body: async (trial) => {
      const mine = await trial.provision();
      const other = await trial.provision();
      const mixed = { volume: mine.volume, handle: other.handle };
      const driver = await trial.driver();
      const size = async (): Promise<bigint | undefined> =>
        (await driver.observe(trial.call(other))).sizeBytes;
      const before = await size();
      await kindOf(driver.expand({ ...trial.call(mixed), sizeBytes: trial.sizeBytes * 2n }));
      const after = await size();
      assert(
        after === before,
        `expand with the handle of another volume grew that volume from ${before ?? 0n} to ${after ?? 0n} bytes`,
      );
    },
  },
  {
    name: 'foreign-handles-give-no-snapshot',
    behaviour:
      "createSnapshot with another volume's handle is rejected, or takes the volume of the identity",
    needs: ['content', 'snapshots'],
    body: async (trial) => {
      const mine = await trial.provision();
      const other = await trial.provision();
      await trial.mounted(other, (path) => writeContent(path, 'other'));
      const mixed = { volume: mine.volume, handle: other.handle };
      const taken = await trial.snapshot(mixed).catch(() => undefined);
      const restored = taken && (await trial.restore(taken).catch(() => undefined));
      const label = restored && (await trial.mounted(restored, labelOf));
      assert(
        label === undefined,
        `a snapshot with the handle of another volume contains its content "${label ?? ''}"`,
      );
    },
  },
  {
    name: 'foreign-snapshot-handles-reach-nothing',
    behaviour:
      "calls with another snapshot's handle are rejected, or concern the snapshot of the identity",
    needs: ['content', 'snapshots'],
    body: async (trial) => {
      const source = await trial.provision();
      await trial.mounted(source, (path) => writeContent(path, 'mine'));
      const mine = await trial.snapshot(source);
      await trial.mounted(source, (path) => writeContent(path, 'other'));
      const other = await trial.snapshot(source);
      const mixed = { snapshot: mine.snapshot, handle: other.handle };
      const driver = await trial.driver();
      const request = { ...trial.snapshotRequest(source, mine.snapshot), ...mixed };
      const seen = await driver.observeSnapshot(request).catch(() => undefined);
      assert(
        seen?.handle !== other.handle,
        `observeSnapshot with the handle of another snapshot returns that snapshot, ${other.handle}`,
      );
      const restored = await trial.restore(mixed).catch(() => undefined);
      if (restored)
        await trial.mounted(restored, (path) =>
          requireContent(path, 'mine', 'restored with the handle of another snapshot'),
        );
      await kindOf(driver.deleteSnapshot(request));
      const kept = await trial.restore(other);
      await trial.mounted(kept, (path) =>
        requireContent(path, 'other', 'restored after its handle was used to delete another one'),
      );
    },
  },
  {
    name: 'snapshots-need-no-handle',
    behaviour:
      'a snapshot is observed with and without its handle, with one size, and deleted without it',
    needs: ['content', 'snapshots'],
    body: async (trial) => {
      const source = await trial.provision();
      await trial.mounted(source, (path) => writeContent(path, 'source'));
      const identity = trial.snapshotIdentity();
      const made = await trial.snapshot(source, identity);
      const driver = await trial.driver();
      const request = trial.snapshotRequest(source, identity);
      const { restoreSizeBytes } = await driver.createSnapshot(request);
      if (trial.capabilities.blockDevice)
        assert(
          restoreSizeBytes >= source.sizeBytes,
          `the snapshot of a volume of ${source.sizeBytes} bytes has a minimum size of ${restoreSizeBytes}`,
        );
      for (const handle of [made.handle, undefined]) {
        const found = await driver.observeSnapshot({ ...request, handle });
        const how = `observeSnapshot ${handle === undefined ? 'without a handle' : 'with its handle'}`;
        assert(found.handle === made.handle, `${how} returns handle ${found.handle}`);
        assert(found.ready, `${how} returns a complete snapshot as not ready`);
        assert(
          found.restoreSizeBytes === restoreSizeBytes,
          `${how} returns a minimum size of ${found.restoreSizeBytes}, createSnapshot ${restoreSizeBytes}`,
        );
      }
      const sizeBytes = restoreSizeBytes > 0n ? restoreSizeBytes : trial.sizeBytes;
      const restored = await trial.restore(made, undefined, sizeBytes);
      await trial.mounted(restored, (path) =>
        requireContent(path, 'source', 'restored to the minimum size'),
      );
      await deleteUnknown(trial, made);
      const found = await kindOf(driver.observeSnapshot({ ...request, handle: made.handle }));
      assert(found === 'NotFound', 'a snapshot that was deleted without its handle still exists');
    },
  },
];
