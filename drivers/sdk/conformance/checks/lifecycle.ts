import { uidsAlike } from '../uids-alike.js';
import type { Check } from '../check.js';
import { assert } from '../failure.js';
import { requireContent, requireEmpty, writeContent } from '../content.js';
import { deviceBytes } from '../device-bytes.js';
import { kindOf, requireKind, requireRefusal } from '../require-kind.js';
import type { Made } from '../created-resources.js';

/** Checks that provisioned volumes exist, deleted ones do not, and volumes are distinct. */
export const lifecycle: readonly Check[] = [
  {
    name: 'observe-what-was-made',
    behaviour:
      'a volume is observed with and without its handle, and has at least the requested size',
    needs: [],
    body: async (trial) => {
      const { volume, handle, sizeBytes } = await trial.provision();
      assert(handle !== '', 'the handle is empty');
      assert(
        sizeBytes >= trial.sizeBytes,
        `provision returned ${sizeBytes} bytes, and ${trial.sizeBytes} were requested`,
      );
      for (const known of [handle, undefined]) {
        const request = { ...trial.context(volume), handle: known };
        const found = await (await trial.driver()).observe(request);
        assert(found.handle === handle, `observe returns handle ${found.handle}, not ${handle}`);
        assert(
          found.sizeBytes === undefined || found.sizeBytes >= trial.sizeBytes,
          `observe returns ${found.sizeBytes ?? 0n} bytes, and ${trial.sizeBytes} were requested`,
        );
      }
    },
  },
  {
    name: 'sizes-are-real',
    behaviour: 'the device of a volume has at least the size that provision returns',
    needs: ['content'],
    body: async (trial) => {
      const made = await trial.provision();
      const bytes = await deviceBytes(await trial.device(made));
      assert(
        bytes >= made.sizeBytes,
        `provision returns ${made.sizeBytes} bytes, and the device has ${bytes}`,
      );
    },
  },
  {
    name: 'absent-volumes-are-not-found',
    behaviour:
      'observe of a volume that was never provisioned is NotFound, as are attach, expand and snapshot of a deleted one',
    needs: ['ownsData'],
    body: async (trial) => {
      const driver = await trial.driver();
      // A real handle, because the suite does not know their format.
      const made = await trial.provision();
      await trial.delete(made);
      const never = { ...trial.context(trial.identity()), handle: undefined };
      await requireKind(
        'observe of a volume that was never provisioned',
        driver.observe(never),
        'NotFound',
      );
      const call = trial.call(made);
      await requireKind('attach of a deleted volume', driver.attach(call), 'NotFound');
      if (trial.capabilities.expand) {
        const expand = driver.expand({ ...call, sizeBytes: trial.sizeBytes * 2n });
        await requireKind('expand of a deleted volume', expand, 'NotFound');
      }
      if (trial.capabilities.snapshots) {
        const snapshot = driver.createSnapshot(
          trial.snapshotRequest(made, trial.snapshotIdentity()),
        );
        await requireKind('a snapshot of a deleted volume', snapshot, 'NotFound');
      }
    },
  },
  {
    name: 'delete-is-final',
    behaviour: 'after delete a volume is NotFound for observe and attach',
    needs: ['ownsData'],
    body: async (trial) => {
      const made = await trial.provision();
      await trial.delete(made);
      const driver = await trial.driver();
      const context = trial.context(made.volume);
      for (const handle of [made.handle, undefined])
        await requireKind(
          'observe after delete',
          driver.observe({ ...context, handle }),
          'NotFound',
        );
      await requireKind('attach after delete', driver.attach(trial.call(made)), 'NotFound');
    },
  },
  {
    name: 'delete-needs-no-handle',
    behaviour: 'delete without a handle removes the resource of the identity, as after a crash',
    needs: ['ownsData'],
    body: async (trial) => {
      const { volume } = await trial.provision();
      const request = { ...trial.context(volume), handle: undefined };
      await (await trial.driver()).delete(request);
      const observed = (await trial.driver()).observe(request);
      await requireKind('observe after a delete without handle', observed, 'NotFound');
    },
  },
  {
    name: 'delete-forgets-content',
    behaviour: 'a volume that is provisioned again under the identity of a deleted one is empty',
    needs: ['ownsData', 'content'],
    body: async (trial) => {
      const made = await trial.provision();
      await trial.mounted(made, (path) => writeContent(path, 'deleted'));
      await trial.delete(made);
      const again = await trial.provision(made.volume);
      await trial.mounted(again, (path) =>
        requireEmpty(path, 'provisioned again after its deletion'),
      );
    },
  },
  {
    name: 'delete-spares-others',
    behaviour: 'a deletion of a volume keeps other volumes and their content, attached or not',
    needs: ['ownsData', 'content'],
    body: async (trial) => {
      const idle = await trial.provision();
      const used = await trial.provision();
      const doomed = await trial.provision();
      await trial.mounted(idle, (path) => writeContent(path, 'idle'));
      await trial.mounted(doomed, (path) => writeContent(path, 'doomed'));
      const mounted = await trial.mount(used);
      await writeContent(mounted.path, 'used');
      await trial.delete(doomed);
      await requireContent(mounted.path, 'used', 'after another volume was deleted');
      await trial.release(mounted);
      for (const [made, label] of [
        [idle, 'idle'],
        [used, 'used'],
      ] as const)
        await trial.mounted(made, (path) =>
          requireContent(path, label, 'after another volume was deleted'),
        );
    },
  },
  {
    name: 'delete-refuses-mounted',
    behaviour: 'a volume whose device is mounted is not deleted',
    needs: ['ownsData', 'content'],
    body: async (trial) => {
      const made = await trial.provision();
      await trial.device(made);
      const mounted = await trial.mount(made);
      trial.requireOwnMount(mounted);
      await writeContent(mounted.path, 'mounted');
      await requireRefusal('delete of a mounted volume', trial.delete(made));
      await requireContent(mounted.path, 'mounted', 'after a refused delete');
      await trial.release(mounted);
      await trial.mounted(made, (path) =>
        requireContent(path, 'mounted', 'after a refused delete'),
      );
    },
  },
  {
    name: 'delete-refuses-attached',
    behaviour: 'a volume that is attached to a node is not deleted, and stays attached',
    needs: ['ownsData', 'content'],
    body: async (trial) => {
      if (!trial.capabilities.blockDevice)
        trial.leaveOut('the driver attaches nothing at a provider (capability blockDevice)');
      const made = await trial.provision();
      await trial.mounted(made, (path) => writeContent(path, 'attached'));
      const driver = await trial.driver();
      const { devicePath } = await driver.attach(trial.call(made));
      await requireRefusal('delete of an attached volume', trial.delete(made));
      const again = await driver.attach(trial.call(made));
      assert(
        again.devicePath === devicePath,
        `after a refused delete the device is ${again.devicePath}, before it was ${devicePath}`,
      );
      await driver.detach(trial.call(made));
      await trial.mounted(made, (path) =>
        requireContent(path, 'attached', 'after a refused delete'),
      );
    },
  },
  {
    name: 'new-volumes-are-empty',
    behaviour: 'a new volume has no content of a deleted one',
    needs: ['ownsData', 'content'],
    body: async (trial) => {
      const made = await trial.provision();
      await trial.mounted(made, (path) => writeContent(path, 'deleted'));
      await trial.delete(made);
      // Under the same name, as a user who creates it again.
      const volume = trial.identity(undefined, made.volume.name);
      const other = await trial.provision(volume);
      await trial.mounted(other, (path) =>
        requireEmpty(path, 'provisioned after another one was deleted'),
      );
    },
  },
  {
    name: 'volumes-are-separate',
    behaviour:
      'volumes with different uids share neither handle nor content, also with the same name',
    needs: ['ownsData', 'content'],
    body: async (trial) => {
      const volumes: Made[] = [];
      for (const [n, uid] of uidsAlike().entries()) {
        const volume = trial.identity(uid, 'conformance-alike');
        const namespace = n === 1 ? 'another' : 'default';
        volumes.push(await trial.provision({ ...volume, namespace }));
      }
      const handles = new Set(volumes.map(({ handle }) => handle));
      assert(
        handles.size === volumes.length,
        `objects with different uids share a handle: ${[...handles].join(', ')}`,
      );
      for (const made of volumes)
        await trial.mounted(made, async (path) => {
          await requireEmpty(path, 'new, with the name of others');
          await writeContent(path, made.volume.uid);
        });
      for (const made of volumes)
        await trial.mounted(made, (path) =>
          requireContent(path, made.volume.uid, 'after others with its name were written'),
        );
    },
  },
  {
    name: 'deleted-identities-stay-deleted',
    behaviour: 'calls for a deleted volume do not affect a later volume of the same name',
    needs: ['ownsData', 'content'],
    body: async (trial) => {
      const stale = await trial.provision();
      await trial.delete(stale);
      const fresh = await trial.provision(trial.identity(undefined, stale.volume.name));
      await trial.mounted(fresh, (path) => writeContent(path, 'fresh'));
      const driver = await trial.driver();
      await requireKind(
        'attach of the deleted volume',
        driver.attach(trial.call(stale)),
        'NotFound',
      );
      const observed = driver.observe({ ...trial.context(stale.volume), handle: stale.handle });
      await requireKind('observe of the deleted volume', observed, 'NotFound');
      await kindOf(trial.delete(stale));
      await trial.mounted(fresh, (path) =>
        requireContent(path, 'fresh', 'after calls for the deleted volume'),
      );
    },
  },
  {
    name: 'instances-agree',
    behaviour:
      'a driver instance sees at once the volumes that another one provisioned, deleted and provisioned again',
    needs: ['ownsData'],
    body: async (trial) => {
      const [one, other] = [await trial.driver(), await trial.driver()];
      const volume = trial.identity();
      const request = { ...trial.context(volume), handle: undefined };
      for (const round of ['first', 'second']) {
        await requireKind(
          `observe before the ${round} provision`,
          one.observe(request),
          'NotFound',
        );
        const { handle } = await other.provision(trial.request(volume));
        const found = await one.observe(request);
        assert(found.handle === handle, `observe returns handle ${found.handle}, not ${handle}`);
        await one.attach({ ...request, handle });
        await one.detach({ ...request, handle });
        await other.delete({ ...request, handle });
        const observed = one.observe({ ...request, handle });
        await requireKind(
          'observe of a volume that another instance deleted',
          observed,
          'NotFound',
        );
        const attached = one.attach({ ...request, handle });
        await requireKind('attach of a volume that another instance deleted', attached, 'NotFound');
      }
    },
  },
];
