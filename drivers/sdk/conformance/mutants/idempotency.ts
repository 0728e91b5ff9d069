import { DriverError } from '../../errors/errors.js';
import { mountAt } from '../../node/mount-table.js';
import { requireCommand, runCommand } from '../../node/run-command.js';
import { aliasing, erase, exists, makeStray } from './damage.js';
import type { Mutant } from './mutant.js';

/** Faults in repeated or concurrent calls. */
export const idempotencyMutants: readonly Mutant[] = [
  {
    name: 'provision-wipes',
    breaks: 'Provision of an existing volume empties it.',
    silent: true,
    killedBy: 'provision-keeps-data',
    change: (driver, memory) => ({
      provision: async (request) => {
        const before = await exists(driver, request);
        const result = await driver.provision(request);
        if (before) await erase(driver, memory, { ...request, handle: result.handle });
        return result;
      },
    }),
  },
  {
    name: 'provision-of-another-size-recreates',
    breaks: 'Provision of an existing volume with another size deletes it and creates it again.',
    silent: true,
    killedBy: 'provision-of-another-size-keeps-data',
    change: (driver, memory) => ({
      provision: async (request) => {
        const known = memory.volumes.get(request.volume.uid);
        if (known && known.sizeBytes !== request.sizeBytes) await driver.delete(known);
        return driver.provision(request);
      },
    }),
  },
  {
    name: 'provision-of-another-size-resizes',
    breaks: 'Provision of an existing volume with a smaller size shrinks it.',
    silent: true,
    killedBy: 'provision-of-another-size-keeps-data',
    change: (driver, memory) => ({
      observe: async (request) => {
        const found = await driver.observe(request);
        const reported = memory.notes.get(request.volume.uid);
        return reported === undefined ? found : { ...found, sizeBytes: BigInt(reported) };
      },
      provision: async (request) => {
        const { sizeBytes, volume } = request;
        const result = await driver.provision(request);
        memory.notes.set(volume.uid, String(sizeBytes));
        return { ...result, sizeBytes };
      },
    }),
  },
  {
    name: 'restore-of-another-size-recreates',
    breaks: 'Restore into an existing volume with another size deletes it and creates it again.',
    silent: true,
    killedBy: 'restore-keeps-data',
    change: (driver, memory) => ({
      restore: async (request) => {
        const known = memory.volumes.get(request.volume.uid);
        if (known && known.sizeBytes !== request.sizeBytes) await driver.delete(known);
        return driver.restore(request);
      },
    }),
  },
  {
    name: 'provision-makes-another',
    breaks: 'A repeated provision creates a second resource and returns its handle.',
    silent: false,
    killedBy: 'provision-answers-the-same',
    change: (driver, memory) => ({
      provision: async (request) => {
        const before = await exists(driver, request);
        const result = await driver.provision(request);
        if (!before) return result;
        return { ...result, handle: await makeStray(driver, memory, request) };
      },
    }),
  },
  {
    name: 'provision-leaves-duplicates',
    breaks: 'A repeated provision creates a second resource and returns the handle of the first.',
    silent: false,
    killedBy: 'provision-makes-one-resource',
    change: (driver, memory) => ({
      provision: async (request) => {
        if (await exists(driver, request)) await makeStray(driver, memory, request);
        return driver.provision(request);
      },
    }),
  },
  {
    name: 'handles-change',
    breaks: 'Each provision returns another handle.',
    silent: false,
    killedBy: 'provision-answers-the-same',
    change: (driver, memory) => ({
      provision: async (request) => {
        const { uid } = request.volume;
        const times = Number(memory.notes.get(uid) ?? 0) + 1;
        memory.notes.set(uid, String(times));
        const { handle, sizeBytes } = await driver.provision(request);
        return { handle: times === 1 ? handle : `${handle}?${times}`, sizeBytes };
      },
    }),
  },
  {
    name: 'restore-overwrites',
    breaks: 'A repeated restore overwrites newer content with the snapshot.',
    silent: true,
    killedBy: 'restore-keeps-data',
    change: (driver) => ({
      restore: async (request) => {
        if (await exists(driver, request)) await driver.delete({ ...request, handle: undefined });
        return driver.restore(request);
      },
    }),
  },
  {
    name: 'detach-again-fails',
    breaks: 'Detach of a detached volume is NotFound.',
    silent: false,
    killedBy: 'absent-is-success',
    change: (driver, memory) => ({
      detach: async (request) => {
        if (!memory.attached.has(request.volume.uid))
          throw new DriverError('NotFound', 'it is not attached');
        await driver.detach(request);
      },
    }),
  },
  {
    name: 'mount-again-stacks',
    breaks: 'A repeated mount stacks a second mount.',
    silent: false,
    killedBy: 'mount-again-mounts-once',
    needsDevice: true,
    change: (driver) => ({
      mount: async (request) => {
        const before = await mountAt(request.target);
        const result = await driver.mount(request);
        const bind = ['--bind', request.target, request.target];
        if (before) await requireCommand(runCommand, 'mount', bind, request.signal);
        return result;
      },
    }),
  },
  {
    name: 'attach-again-discards-writes',
    breaks: 'A repeated attach loses the writes since the first.',
    silent: true,
    killedBy: 'attach-again-gives-the-same',
    change: (driver, memory) => ({
      attach: async (request) => {
        const before = memory.attached.has(request.volume.uid);
        const result = await driver.attach(request);
        if (before && result.devicePath !== '') await erase(driver, memory, request);
        return result;
      },
    }),
  },
  {
    name: 'provisions-at-once-make-two',
    breaks:
      'Two concurrent provisions of one volume create two resources and return the handle of the first.',
    silent: false,
    killedBy: 'provisions-at-once-make-one',
    change: (driver, memory) => ({
      provision: async (request) => {
        const { uid } = request.volume;
        const running = memory.running.get(uid);
        const call = driver.provision(request);
        memory.running.set(uid, call);
        if (running) await makeStray(driver, memory, request);
        return call.finally(() => memory.running.delete(uid));
      },
    }),
  },
  {
    name: 'volumes-at-once-share',
    breaks: 'Volumes that are provisioned concurrently share one storage.',
    silent: true,
    killedBy: 'volumes-at-once-are-separate',
    change: (driver, memory) => {
      const alias = aliasing(driver, ({ uid }) => {
        const real = memory.notes.get(uid);
        return real === undefined ? undefined : memory.volumes.get(real);
      });
      return {
        ...alias,
        provision: async (request) => {
          const { uid } = request.volume;
          const [other] = memory.running.keys();
          if (other === undefined || other === uid) {
            const call = (alias.provision ?? driver.provision)(request);
            memory.running.set(uid, call);
            return call.finally(() => memory.running.delete(uid));
          }
          await memory.running.get(other);
          memory.notes.set(uid, other);
          return (alias.provision ?? driver.provision)(request);
        },
      };
    },
  },
  {
    name: 'attaches-at-once-both-win',
    breaks: 'Concurrent attaches to two nodes both return the device of the first.',
    silent: true,
    killedBy: 'one-node-wins',
    change: (driver, memory) => ({
      attach: async (request) => {
        const key = `attach ${request.volume.uid}`;
        const running = memory.running.get(key) as ReturnType<typeof driver.attach> | undefined;
        if (running) return running;
        const call = driver.attach(request);
        memory.running.set(key, call);
        return call.finally(() => memory.running.delete(key));
      },
    }),
  },
  {
    name: 'cancelled-calls-hang',
    breaks: 'Provision with an aborted signal never ends.',
    silent: false,
    killedBy: 'cancelled-calls-end',
    change: (driver) => ({
      provision: (request) =>
        request.signal.aborted ? new Promise(() => undefined) : driver.provision(request),
    }),
  },
  {
    name: 'aborts-are-not-heard',
    breaks: 'An attach call never returns if its signal is aborted during the call.',
    silent: false,
    killedBy: 'cancelled-calls-end',
    change: (driver) => ({
      attach: async (request) => {
        const early = request.signal.aborted;
        const { signal } = new AbortController();
        const result = await driver.attach({ ...request, signal });
        return request.signal.aborted && !early ? new Promise(() => undefined) : result;
      },
    }),
  },
];
