import { mkdir } from 'node:fs/promises';
import { requireCommand, runCommand } from '../../node/run-command.js';
import { erase, mountOf } from './damage.js';
import type { Mutant } from './mutant.js';

/** Faults in growing. */
export const growthMutants: readonly Mutant[] = [
  {
    name: 'expand-erases',
    breaks: 'Expand of an unmounted volume recreates it empty.',
    silent: true,
    killedBy: 'expand-keeps-data',
    change: (driver, memory) => ({
      expand: async (request) => {
        const result = await driver.expand(request);
        if (!mountOf(memory, request.volume)) await erase(driver, memory, request);
        return result;
      },
    }),
  },
  {
    name: 'expand-in-use-erases',
    breaks: 'Expand of a mounted volume loses its content.',
    silent: true,
    killedBy: 'expand-keeps-data-in-use',
    change: (driver, memory) => ({
      expand: async (request) => {
        const result = await driver.expand(request);
        if (mountOf(memory, request.volume)) await erase(driver, memory, request);
        return result;
      },
    }),
  },
  {
    name: 'expand-shrinks',
    breaks: 'Expand to a smaller size shrinks the volume.',
    silent: true,
    killedBy: 'expand-never-shrinks',
    change: (driver, memory) => ({
      expand: async (request) => {
        const { uid } = request.volume;
        const known = memory.volumes.get(uid);
        const reached = BigInt(memory.notes.get(uid) ?? 0);
        if (known && request.sizeBytes < reached) {
          await driver.delete(request);
          const { sizeBytes } = await driver.provision({ ...known, sizeBytes: request.sizeBytes });
          return { sizeBytes, fileSystemPending: false };
        }
        const result = await driver.expand(request);
        memory.notes.set(uid, String(result.sizeBytes));
        return result;
      },
    }),
  },
  {
    name: 'expand-does-nothing',
    breaks: 'Expand does nothing and returns the requested size; observe repeats it.',
    silent: false,
    killedBy: 'expanded-sizes-are-real',
    change: (driver, memory) => ({
      expand: ({ volume, sizeBytes }) => {
        memory.notes.set(volume.uid, String(sizeBytes));
        return Promise.resolve({ sizeBytes, fileSystemPending: false });
      },
      observe: async (request) => {
        const found = await driver.observe(request);
        const reported = memory.notes.get(request.volume.uid);
        return reported === undefined ? found : { ...found, sizeBytes: BigInt(reported) };
      },
    }),
  },
  {
    name: 'expand-reaches-less',
    breaks: 'Expand returns less than the requested size.',
    silent: false,
    killedBy: 'expand-reaches-its-size',
    change: (driver) => ({
      expand: async (request) => ({
        ...(await driver.expand(request)),
        sizeBytes: request.sizeBytes - 1n,
      }),
    }),
  },
  {
    name: 'file-systems-stay-small',
    breaks: 'The device is expanded, but no mount expands the file system.',
    silent: false,
    killedBy: 'file-systems-grow',
    change: (driver, memory) => ({
      expand: async (request) => {
        const result = await driver.expand(request);
        memory.notes.set(request.volume.uid, 'grown');
        return result;
      },
      mount: async (request) => {
        const { devicePath, target, volume, signal } = request;
        if (!memory.notes.has(volume.uid) || devicePath === '') return driver.mount(request);
        await mkdir(target);
        await requireCommand(runCommand, 'mount', [devicePath, target], signal);
        return { path: target, formatted: true };
      },
    }),
  },
];
