import type { HostFiles, NodeHost } from '@kedge/driver-sdk';
import type { When } from './protocol.js';

/** Called at each step of a node; the step waits until it settles. */
export type Meet = (when: When, step: string) => Promise<void>;

type Method = (...args: never[]) => Promise<unknown>;

/** A node with interceptable steps: an event runs immediately before or after a step, which waits for it. */
export function steppedHost(host: NodeHost, meet: Meet): NodeHost {
  const stepped = <M extends Method>(name: string, method: M): M =>
    (async (...args: Parameters<M>) => {
      await meet('before', name);
      const result = await method(...args);
      await meet('after', name);
      return result;
    }) as M;
  const files = Object.fromEntries(
    Object.entries(host.files).map(([name, method]: [string, Method]) => [
      name,
      stepped(name, method),
    ]),
  ) as unknown as HostFiles;
  return {
    ...host,
    files,
    async run(command, args, signal) {
      await meet('before', command);
      const running = host.run(command, args, signal);
      running.catch(() => undefined);
      // The program continues during the planned event.
      await meet('after', `${command} began`);
      const result = await running;
      await meet('after', command);
      return result;
    },
    mounts: stepped('mounts', () => host.mounts()),
    deviceNumber: stepped('deviceNumber', (device: string) => host.deviceNumber(device)),
    hasFileSystem: stepped('hasFileSystem', (device: string) => host.hasFileSystem(device)),
    openDirectory: stepped('openDirectory', (path: string) => host.openDirectory(path)),
  };
}
