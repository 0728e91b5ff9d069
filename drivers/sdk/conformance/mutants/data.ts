import { cp, mkdtemp, readdir, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { aliasing, erase, findVolume } from './damage.js';
import type { Mutant } from './mutant.js';

const pageBytes = 4096;

/** Truncates every file to whole pages, as a page cache that is not flushed. */
async function cutTails(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const { size } = await stat(path);
    await truncate(path, size - (size % pageBytes));
  }
}

/** Faults in keeping written data. */
export const dataMutants: readonly Mutant[] = [
  {
    name: 'detach-loses-unflushed-data',
    breaks: 'The last page of every file is not flushed before the detach.',
    silent: true,
    killedBy: 'content-survives',
    change: (driver, memory) => ({
      unmount: async (request) => {
        const mounted = memory.mounted.get(request.target);
        if (mounted && !mounted.readOnly) await cutTails(mounted.path);
        await driver.unmount(request);
      },
    }),
  },
  {
    name: 'writes-go-to-an-overlay',
    breaks: 'Writes after the second mount are discarded at unmount.',
    silent: true,
    killedBy: 'newest-content-wins',
    change: (driver, memory) => ({
      mount: async (request) => {
        const result = await driver.mount(request);
        if ((await readdir(result.path)).some((name) => name !== 'lost+found')) {
          const lower = await mkdtemp(join(tmpdir(), 'kedge-mutant-'));
          await cp(result.path, lower, { recursive: true, verbatimSymlinks: true });
          memory.notes.set(request.target, lower);
        }
        return result;
      },
      unmount: async (request) => {
        const mounted = memory.mounted.get(request.target);
        const lower = memory.notes.get(request.target);
        if (mounted && lower !== undefined) {
          await erase(driver, memory, mounted);
          await cp(lower, mounted.path, { recursive: true, verbatimSymlinks: true });
          await rm(lower, { recursive: true });
          memory.notes.delete(request.target);
        }
        await driver.unmount(request);
      },
    }),
  },
  {
    name: 'removed-files-return',
    breaks: 'Removed files exist again at the next mount.',
    silent: true,
    killedBy: 'deletions-survive',
    change: (driver, memory) => ({
      mount: async (request) => {
        const result = await driver.mount(request);
        const { uid } = request.volume;
        const before = memory.notes.get(uid);
        const names = await readdir(result.path);
        const copy = { recursive: true, verbatimSymlinks: true } as const;
        if (before !== undefined && !names.some((name) => name !== 'lost+found'))
          await cp(before, result.path, copy);
        const now = before ?? (await mkdtemp(join(tmpdir(), 'kedge-mutant-')));
        memory.notes.set(uid, now);
        await rm(now, { recursive: true });
        await cp(result.path, now, copy);
        return result;
      },
      delete: async (request) => {
        const before = memory.notes.get(request.volume.uid);
        if (before !== undefined) await rm(before, { recursive: true, force: true });
        await driver.delete(request);
      },
    }),
  },
  {
    name: 'foreign-handles-are-obeyed',
    breaks: 'A call affects the volume of its handle, also if its identity is of another volume.',
    silent: true,
    killedBy: 'foreign-handles-reach-nothing',
    change: (driver, memory) => {
      const owner = (handle: string | undefined, uid: string) => {
        const known = [...memory.volumes.values()].find((volume) => volume.handle === handle);
        return known?.volume.uid === uid ? undefined : known;
      };
      return {
        attach: (r) => driver.attach(owner(r.handle, r.volume.uid) ?? r),
        detach: (r) => driver.detach(owner(r.handle, r.volume.uid) ?? r),
        mount: (r) => driver.mount({ ...r, volume: (owner(r.handle, r.volume.uid) ?? r).volume }),
        unmount: (r) =>
          driver.unmount({ ...r, volume: (owner(r.handle, r.volume.uid) ?? r).volume }),
        delete: (r) => driver.delete(owner(r.handle, r.volume.uid) ?? r),
      };
    },
  },
  {
    name: 'stale-handles-are-accepted',
    breaks:
      'Attach ignores the handle: the handle of a deleted volume attaches a volume of the same name.',
    silent: false,
    killedBy: 'stale-handles-are-refused',
    change: (driver, memory) =>
      aliasing(driver, ({ uid }) => findVolume(memory, (known) => known.uid === uid)),
  },
];
