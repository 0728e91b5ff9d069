import { realpath } from 'node:fs/promises';
import { DriverError } from '../../errors/errors.js';
import { mountAt } from '../../node/mount-table.js';
import { requireCommand, runCommand } from '../../node/run-command.js';
import { writeHead } from '../device-bytes.js';
import { mountOf } from './damage.js';
import type { Mutant } from './mutant.js';

/** The zeros at the start of a blank device, as many as a driver checks. */
const blank = (): Buffer => Buffer.alloc(1024 * 1024);

/** Faults in formatting, mounting, unmounting and detaching. */
export const mountMutants: readonly Mutant[] = [
  {
    name: 'read-only-is-ignored',
    breaks: 'A read-only mount is writable.',
    silent: true,
    killedBy: 'read-only-is-obeyed',
    change: (driver) => ({ mount: (request) => driver.mount({ ...request, readOnly: false }) }),
  },
  {
    name: 'writable-mount-answers-read-only',
    breaks: 'A read-only mount returns the existing writable mount.',
    silent: true,
    killedBy: 'read-only-is-not-answered-by-writable',
    change: (driver) => ({
      mount: async (request) => {
        const there = await mountAt(request.target);
        return driver.mount(there ? { ...request, readOnly: there.readOnly } : request);
      },
    }),
  },
  {
    name: 'formats-without-consent',
    breaks: 'A blank device is formatted although mayFormat is false.',
    silent: true,
    killedBy: 'formats-only-with-consent',
    change: (driver) => ({ mount: (request) => driver.mount({ ...request, mayFormat: true }) }),
  },
  {
    name: 'formats-again',
    breaks: 'With mayFormat, a device is formatted regardless of its content.',
    silent: true,
    killedBy: 'formats-once',
    needsDevice: true,
    change: (driver) => ({
      mount: async (request) => {
        const { devicePath, mayFormat, target } = request;
        if (mayFormat && devicePath !== '' && !(await mountAt(target)))
          await writeHead(devicePath, blank());
        return driver.mount(request);
      },
    }),
  },
  {
    name: 'formats-foreign-data',
    breaks: 'A device with data of an unknown format is formatted.',
    silent: true,
    killedBy: 'foreign-data-is-kept',
    change: (driver) => ({
      mount: async (request) => {
        try {
          return await driver.mount(request);
        } catch (error) {
          if (!(error instanceof DriverError) || error.kind !== 'InvalidParameters') throw error;
          await writeHead(request.devicePath, blank());
          return driver.mount(request);
        }
      },
    }),
  },
  {
    name: 'unmount-does-nothing',
    breaks: 'Unmount returns success but leaves the volume mounted.',
    silent: false,
    killedBy: 'unmount-unmounts',
    change: () => ({ unmount: () => Promise.resolve() }),
  },
  {
    name: 'unmount-is-lazy',
    breaks: 'Unmount is lazy (umount -l): processes can still write to files that they have open.',
    silent: true,
    killedBy: 'unmount-refuses-in-use',
    change: (driver) => ({
      unmount: async (request) => {
        if (await mountAt(request.target)) {
          await requireCommand(runCommand, 'umount', ['-l', request.target], request.signal);
          return;
        }
        await driver.unmount(request);
      },
    }),
  },
  {
    name: 'unmount-takes-all',
    breaks: 'Unmount of one volume unmounts all.',
    silent: false,
    killedBy: 'unmount-spares-others',
    change: (driver, memory) => ({
      unmount: async (request) => {
        for (const mounted of [...memory.mounted.values()]) await driver.unmount(mounted);
        await driver.unmount(request);
      },
    }),
  },
  {
    name: 'unmount-takes-any-target',
    breaks: "Unmount of one volume at another one's target unmounts that one.",
    silent: false,
    killedBy: 'unmount-spares-others',
    change: (driver, memory) => ({
      unmount: (request) => driver.unmount(memory.mounted.get(request.target) ?? request),
    }),
  },
  {
    name: 'detach-while-mounted',
    breaks: 'Detach of a mounted volume returns success and removes the device.',
    silent: true,
    killedBy: 'detach-refuses-mounted',
    change: (driver, memory) => ({
      detach: async (request) => {
        const mounted = mountOf(memory, request.volume);
        if (mounted && (await mountAt(mounted.target)))
          await requireCommand(runCommand, 'umount', ['-l', mounted.target], request.signal);
        await driver.detach(request);
      },
    }),
  },
  {
    name: 'detach-does-nothing',
    breaks: 'Detach returns success but leaves the device on the node.',
    silent: true,
    killedBy: 'detach-takes-the-device',
    change: () => ({ detach: () => Promise.resolve() }),
  },
  {
    name: 'mount-follows-links',
    breaks:
      'A target that is a symbolic link is followed: the volume is mounted over its destination.',
    silent: true,
    killedBy: 'mount-follows-no-link',
    change: (driver) => ({
      mount: async (request) => {
        const target = await realpath(request.target).catch(() => request.target);
        const { path } = await driver.mount({ ...request, target });
        return { path: path === target ? request.target : path };
      },
      unmount: async (request) => {
        const target = await realpath(request.target).catch(() => request.target);
        await driver.unmount({ ...request, target });
      },
    }),
  },
];
