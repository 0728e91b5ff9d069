import { mkdir, open, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { mountAt } from '../../node/mount-table.js';
import type { Check } from '../check.js';
import { assert } from '../failure.js';
import { requireContent, writeContent } from '../content.js';
import { deviceHead, writeHead } from '../device-bytes.js';
import { kindOf, requireKind, requireRefusal } from '../require-kind.js';

const needs = ['content'] as const;

/** The file of a loop device; undefined for other devices, and for one that is free. */
function backingFile(device: string): Promise<string | undefined> {
  const file = `/sys/class/block/${basename(device)}/loop/backing_file`;
  return readFile(file, 'utf8').catch(() => undefined);
}

async function writable(path: string): Promise<boolean> {
  const probe = join(path, 'kedge-writable');
  try {
    await writeFile(probe, '');
  } catch {
    // Any error means that the file can't be written.
    return false;
  }
  await rm(probe);
  return true;
}

/** Checks that mounts format only blank devices with consent, follow no links, and end at unmount. */
export const mounts: readonly Check[] = [
  {
    name: 'read-only-is-obeyed',
    behaviour: 'a volume that is mounted read-only can be read, but not written',
    needs,
    body: async (trial) => {
      const made = await trial.provision();
      const first = await trial.mount(made);
      await writeContent(first.path, 'read');
      await trial.release(first);
      trial.requireOwnMount(first);
      const mounted = await trial.mount(made, { readOnly: true, mayFormat: false });
      assert(!(await writable(mounted.path)), 'a file could be written');
      await requireContent(mounted.path, 'read', 'mounted read-only');
      await trial.release(mounted);
    },
  },
  {
    name: 'read-only-is-not-answered-by-writable',
    behaviour: 'a read-only mount does not succeed if the target is already mounted writable',
    needs,
    body: async (trial) => {
      const made = await trial.provision();
      const mounted = await trial.mount(made);
      trial.requireOwnMount(mounted);
      const request = { ...mounted.request, readOnly: true, mayFormat: false };
      const kind = await kindOf((await trial.driver()).mount(request));
      if (kind === undefined) assert(!(await writable(mounted.path)), 'a file could be written');
      await trial.release(mounted);
    },
  },
  {
    name: 'formats-only-with-consent',
    behaviour: 'mount without mayFormat writes nothing to a blank device',
    needs: ['content', 'ownsData'],
    body: async (trial) => {
      const made = await trial.provision();
      const device = await trial.device(made);
      const before = await deviceHead(device);
      if (!before.every((byte) => byte === 0)) trial.leaveOut('the driver formats at provision');
      const request = await trial.mountRequest(made, { mayFormat: false });
      await requireRefusal('mount of a blank device without mayFormat', trial.mountAs(request));
      const after = await deviceHead(await trial.device(made));
      assert(after.equals(before), 'the device was written');
      const there = await mountAt(request.target);
      assert(there === undefined, 'the target is a mount point');
    },
  },
  {
    name: 'formats-once',
    behaviour:
      'a second mount with mayFormat keeps the content, because a crash may have lost the record of the first',
    needs: ['content', 'ownsData'],
    body: async (trial) => {
      const made = await trial.provision();
      await trial.mounted(made, (path) => writeContent(path, 'kept'), { mayFormat: true });
      await trial.mounted(made, (path) => requireContent(path, 'kept', 'mounted with mayFormat'), {
        mayFormat: true,
      });
    },
  },
  {
    name: 'foreign-data-is-kept',
    behaviour: 'a device with data of an unknown format is neither formatted nor mounted',
    needs: ['content', 'ownsData'],
    body: async (trial) => {
      const made = await trial.provision();
      const device = await trial.device(made);
      const foreign = Buffer.alloc(65_536, 0xa7);
      await writeHead(device, foreign);
      const request = await trial.mountRequest(made, { mayFormat: true });
      await requireRefusal('mount of foreign data', trial.mountAs(request));
      const after = await deviceHead(await trial.device(made), foreign.length);
      assert(after.equals(foreign), 'the data was overwritten');
    },
  },
  {
    name: 'unmount-unmounts',
    behaviour: 'unmount leaves no mount at the target, and the content unchanged',
    needs,
    body: async (trial) => {
      const made = await trial.provision();
      const mounted = await trial.mount(made);
      trial.requireOwnMount(mounted);
      await writeContent(mounted.path, 'untouched');
      await trial.release(mounted);
      await trial.mounted(made, (path) => requireContent(path, 'untouched', 'after unmount'));
    },
  },
  {
    name: 'unmount-spares-others',
    behaviour: 'unmount of one volume keeps mounts of others, also if it names their target',
    needs: ['content', 'ownsData'],
    body: async (trial) => {
      const mine = await trial.mount(await trial.provision());
      trial.requireOwnMount(mine);
      const other = await trial.mount(await trial.provision());
      await writeContent(other.path, 'other');
      const { target } = other.request;
      await kindOf((await trial.driver()).unmount({ ...mine.request, target }));
      assert((await mountAt(target)) !== undefined, "another volume's target was unmounted");
      await trial.unmount(mine);
      assert((await mountAt(target)) !== undefined, 'another volume was also unmounted');
      await requireContent(other.path, 'other', 'after another volume was unmounted');
      await trial.release(other);
    },
  },
  {
    name: 'unmount-refuses-in-use',
    behaviour: 'unmount with an open file is InUse, and the volume stays mounted with its content',
    needs: ['content', 'ownsData'],
    body: async (trial) => {
      const mounted = await trial.mount(await trial.provision());
      trial.requireOwnMount(mounted);
      await writeContent(mounted.path, 'used');
      const file = await open(join(mounted.path, 'held'), 'w');
      try {
        const unmounted = (await trial.driver()).unmount(mounted.request);
        await requireKind('unmount while a file is open', unmounted, 'InUse');
        const { target } = mounted.request;
        assert((await mountAt(target)) !== undefined, 'the volume is no longer mounted');
        await requireContent(mounted.path, 'used', 'after a refused unmount');
      } finally {
        await file.close();
      }
      await trial.release(mounted);
    },
  },
  {
    name: 'detach-refuses-mounted',
    behaviour: 'detach of a mounted device is rejected and removes nothing',
    needs: ['content', 'ownsData'],
    body: async (trial) => {
      const made = await trial.provision();
      await trial.device(made);
      const mounted = await trial.mount(made);
      trial.requireOwnMount(mounted);
      await writeContent(mounted.path, 'mounted');
      const detached = (await trial.driver()).detach(mounted.request);
      await requireRefusal('detach of a mounted volume', detached);
      assert((await mountAt(mounted.path)) !== undefined, 'the volume is no longer mounted');
      await requireContent(mounted.path, 'mounted', 'after a refused detach');
      await trial.release(mounted);
      await trial.mounted(made, (path) =>
        requireContent(path, 'mounted', 'after a refused detach'),
      );
    },
  },
  {
    name: 'detach-takes-the-device',
    behaviour: 'detach leaves no device of the volume on the node',
    needs: ['content', 'ownsData'],
    body: async (trial) => {
      const made = await trial.provision();
      const device = await realpath(await trial.device(made));
      const backing = await backingFile(device);
      await (await trial.driver()).detach(trial.call(made));
      // Another process may have been given the number of the loop device meanwhile.
      if (backing !== undefined && (await backingFile(device)) !== backing) return;
      // Either the device node is removed, or it has no content: a loop device remains without its file.
      const file = await open(device, 'r').catch(() => undefined);
      const bytes = await file?.read(Buffer.alloc(512), 0, 512, 0).catch(() => undefined);
      await file?.close();
      assert((bytes?.bytesRead ?? 0) === 0, `${device} can still be read`);
    },
  },
  {
    name: 'mount-follows-no-link',
    behaviour:
      'a target that is a symbolic link is not followed: its destination is not mounted over',
    needs: ['content', 'ownsData'],
    body: async (trial) => {
      const usual = await trial.mount(await trial.provision());
      trial.requireOwnMount(usual);
      await trial.release(usual);
      const request = await trial.mountRequest(await trial.provision());
      const outside = join(await trial.folder(), 'target');
      await mkdir(outside);
      await writeFile(join(outside, 'precious'), '');
      await symlink(outside, request.target);
      await kindOf((await trial.driver()).mount(request));
      const covered = (await mountAt(outside)) !== undefined;
      const names = await readdir(outside);
      await kindOf((await trial.driver()).unmount(request));
      // Nothing below a mount is removed.
      if ((await mountAt(outside)) === undefined) {
        await rm(join(outside, 'precious'), { force: true });
        await rm(request.target, { force: true });
      }
      assert(!covered, `the volume is mounted at ${outside}, the destination of the target link`);
      assert(
        names.join() === 'precious',
        `the destination of the target link was changed; it contains: ${names.join(', ')}`,
      );
    },
  },
];
