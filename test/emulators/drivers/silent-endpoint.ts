import { createServer, type Server, type Socket } from 'node:net';
import { emulatedProject, makeServiceAccount } from '../cloud4/service-account.js';
import type { ProviderName } from '../index.js';
import { places } from '../sweep/emulated-cloud.js';

const token = 'a-token';

/** An endpoint that accepts connections and answers nothing. */
export class SilentEndpoint {
  readonly sockets = new Set<Socket>();
  ended = 0;
  readonly #server: Server = createServer((socket) => {
    this.sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('data', () => undefined);
    socket.on('close', () => {
      this.sockets.delete(socket);
      this.ended += 1;
    });
  });

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, '127.0.0.1', resolve);
    });
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  }

  close(): void {
    for (const socket of this.sockets) socket.destroy();
    this.#server.close();
  }
}

/** A class of a provider that does not answer. */
export interface Silent {
  readonly driver: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** The provider's name in errors. */
  readonly says: string;
  /** Number of calls that wait at once, default 16: cloud3-block joins the reads of many volumes to one call. */
  readonly calls?: number;
}

const { credentialsJSON } = makeServiceAccount('silent');
/** The classes of providers that do not answer. */
export const silentOnes: Readonly<Record<ProviderName, Silent>> = {
  cloud1: {
    ...{ driver: 'cloud1-volume', says: 'DigitalOcean' },
    parameters: { region: places.cloud1, apiToken: token },
  },
  cloud2: {
    ...{ driver: 'cloud2-volume', says: 'Hetzner Cloud' },
    parameters: { region: places.cloud2, apiToken: token },
  },
  cloud3: {
    ...{ driver: 'cloud3-block', says: 'Amazon EBS', calls: 1 },
    parameters: {
      ...{ region: 'eu-central-1', availabilityZone: places.cloud3 },
      ...{ accessKeyId: 'AKIASILENT', secretAccessKey: token },
    },
  },
  cloud4: {
    ...{ driver: 'cloud4-disk', says: 'Google Cloud' },
    parameters: { zone: places.cloud4, project: emulatedProject, credentialsJSON },
  },
};
