import { join } from 'node:path';
import { readMountTable } from '../../node/mount-table.js';
import type { Check } from '../check.js';
import { assert } from '../failure.js';
import { requireContent, writeContent } from '../content.js';
import { kindOf } from '../require-kind.js';

/** Checks that a repeated call returns the same answer, creates one resource, and keeps all data. */
export const idempotency: readonly Check[] = [
  {
    name: 'provision-answers-the-same',
    behaviour:
      'a repeated provision, by another driver instance, returns the same handle and no smaller size',
    needs: [],
    body: async (trial) => {
      const first = await trial.provision();
      const second = await trial.provision(first.volume);
      assert(
        second.handle === first.handle,
        `the second answer has handle ${second.handle}, the first ${first.handle}`,
      );
      assert(
        second.sizeBytes >= first.sizeBytes,
        `the second answer has ${second.sizeBytes} bytes, the first ${first.sizeBytes}`,
      );
    },
  },
  {
    name: 'provision-makes-one-resource',
    behaviour: 'a repeated provision leaves the inventory unchanged',
    needs: ['ownsData', 'inventory'],
    body: async (trial) => {
      const inventory = async (): Promise<string> =>
        [...((await trial.options.inventory?.()) ?? [])].sort().join(', ');
      const made = await trial.provision();
      const before = await inventory();
      await trial.provision(made.volume);
      const after = await inventory();
      assert(after === before, `the inventory changed from ${before} to ${after}`);
    },
  },
  {
    name: 'provision-keeps-data',
    behaviour: 'a repeated provision keeps the content, also while the volume is mounted',
    needs: ['content', 'ownsData'],
    body: async (trial) => {
      const made = await trial.provision();
      await trial.mounted(made, (path) => writeContent(path, 'kept'));
      await trial.provision(made.volume);
      await trial.mounted(made, async (path) => {
        await requireContent(path, 'kept', 'after a second provision');
        await trial.provision(made.volume);
        await requireContent(path, 'kept', 'after a provision while it was mounted');
      });
    },
  },
  {
    name: 'provision-of-another-size-keeps-data',
    behaviour:
      'a repeated provision with another size is rejected or returns the same volume, which keeps its size and content',
    needs: ['content', 'ownsData'],
    body: async (trial) => {
      const made = await trial.provision();
      await trial.mounted(made, (path) => writeContent(path, 'kept'));
      for (const sizeBytes of [trial.sizeBytes * 2n, trial.sizeBytes / 2n]) {
        const when = `after a provision of ${sizeBytes} bytes`;
        const driver = await trial.driver();
        await kindOf(driver.provision({ ...trial.request(made.volume), sizeBytes }));
        const found = await driver.observe({ ...trial.context(made.volume), handle: undefined });
        assert(found.handle === made.handle, `${when}, the handle is ${found.handle}`);
        assert(
          found.sizeBytes === undefined || found.sizeBytes >= trial.sizeBytes,
          `${when}, the volume has ${found.sizeBytes ?? 0n} bytes instead of ${trial.sizeBytes}`,
        );
        await trial.mounted(made, (path) => requireContent(path, 'kept', when), {
          mayFormat: false,
        });
      }
    },
  },
  {
    name: 'restore-keeps-data',
    behaviour: 'a repeated restore keeps later writes to the restored volume',
    needs: ['content', 'snapshots'],
    body: async (trial) => {
      const source = await trial.provision();
      await trial.mounted(source, (path) => writeContent(path, 'snapshot'));
      const snapshot = await trial.snapshot(source);
      const restored = await trial.restore(snapshot);
      await trial.mounted(restored, (path) => writeContent(path, 'newer'));
      const again = await trial.restore(snapshot, restored.volume);
      assert(again.handle === restored.handle, `the second answer has handle ${again.handle}`);
      await trial.mounted(restored, (path) =>
        requireContent(path, 'newer', 'after a second restore'),
      );
      await kindOf(trial.restore(snapshot, restored.volume, trial.sizeBytes * 2n));
      await trial.mounted(restored, (path) =>
        requireContent(path, 'newer', 'after a restore of another size'),
      );
    },
  },
  {
    name: 'absent-is-success',
    behaviour: 'delete, unmount, detach and deleteSnapshot of absent resources succeed',
    needs: [],
    body: async (trial) => {
      const driver = await trial.driver();
      const made = await trial.provision();
      const call = trial.call(made);
      await driver.unmount({ ...call, target: join(await trial.folder(), 'target') });
      await driver.detach(call);
      await driver.detach(call);
      await trial.delete(made);
      await trial.delete(made);
      const context = trial.context(trial.identity());
      await driver.delete({ ...context, handle: undefined });
      const { parameters, node, signal } = trial;
      const snapshot = trial.snapshotIdentity();
      const operations = trial.operationsOf(snapshot.uid);
      const gone = { snapshot, handle: undefined, parameters, node, signal, operations };
      await driver.deleteSnapshot(gone);
    },
  },
  {
    name: 'unmount-and-detach-again',
    behaviour: 'unmount and detach succeed again after they succeeded',
    needs: ['content'],
    body: async (trial) => {
      const mounted = await trial.mount(await trial.provision());
      for (const instance of [await trial.driver(), await trial.driver()])
        await instance.unmount(mounted.request);
      for (const instance of [await trial.driver(), await trial.driver()])
        await instance.detach(mounted.request);
    },
  },
  {
    name: 'mount-again-mounts-once',
    behaviour: 'a repeated mount returns the same path, stacks no mounts, and keeps the content',
    needs: ['content', 'ownsData'],
    body: async (trial) => {
      const mounted = await trial.mount(await trial.provision());
      await writeContent(mounted.path, 'mounted');
      const { path } = await (await trial.driver()).mount({ ...mounted.request, mayFormat: false });
      assert(path === mounted.path, `the second mount returns ${path}, the first ${mounted.path}`);
      const there = (await readMountTable()).filter((e) => e.target === mounted.request.target);
      assert(there.length <= 1, `${there.length} mounts are stacked at the target`);
      await requireContent(path, 'mounted', 'after a second mount');
      await trial.release(mounted);
    },
  },
  {
    name: 'attach-again-gives-the-same',
    behaviour:
      'a repeated attach, by another driver instance, returns the same device and keeps its content',
    needs: ['content'],
    body: async (trial) => {
      const made = await trial.provision();
      const first = await trial.device(made);
      const mounted = await trial.mount(made);
      await writeContent(mounted.path, 'attached');
      const { devicePath } = await (await trial.driver()).attach(trial.call(made));
      assert(devicePath === first, `the second attach returns ${devicePath}, the first ${first}`);
      await requireContent(mounted.path, 'attached', 'after a second attach');
      await trial.release(mounted);
      await trial.mounted(made, (path) =>
        requireContent(path, 'attached', 'mounted again after a second attach'),
      );
    },
  },
];
