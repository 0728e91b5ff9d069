import { httpTransport, type Transport } from '@kedge/driver-sdk/provider';
import { serveEmulator } from '../core/server.js';
import type { EmulatedCloud } from '../sweep/emulated-cloud.js';

/** A provider that listens, and the transport to it. */
export interface Wire {
  readonly transport: Transport;
  close(): Promise<void>;
}

/** Serves a provider over HTTP. Its clock stands still while a request is in progress. */
export async function serveCloud(cloud: EmulatedCloud): Promise<Wire> {
  const server = await serveEmulator(cloud.emulator, 0);
  const send = httpTransport();
  return {
    close: () => server.close(),
    transport: async (request) => {
      const { pathname, search } = request.url;
      cloud.disks.busy += 1;
      try {
        return await send({ ...request, url: new URL(`${pathname}${search}`, server.endpoint) });
      } finally {
        cloud.disks.busy -= 1;
      }
    },
  };
}
