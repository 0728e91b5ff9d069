import { basename, join } from 'node:path';
import {
  type CallContext,
  type Driver,
  type MountEntry,
  nodeHost,
  type NodeHost,
  untilOver,
} from '@kedge/driver-sdk';
import {
  pauseOn,
  type Transport,
  TransportError,
  type TransportRequest,
} from '@kedge/driver-sdk/provider';
import { builtinDrivers } from '@kedge/drivers';
import { type Clock, seededRandom } from 'kedge';
import type { Delivery, Emulator } from '../core/emulator.js';
import { createEmulator, type EmulatorOptions, type ProviderName } from '../index.js';
import { specifiedScopes } from '../cloud1/machine.js';
import { keyIdOf } from '../cloud3/signature/authenticate.js';
import { emulatedProject, makeServiceAccount } from '../cloud4/service-account.js';
import { DrivenClock } from './driven-clock.js';
import { KeptDisks } from './kept-disks.js';

/** The token of the tests. Errors and journals of drivers must not contain it. */
export const testToken = 'dop_v1_secret-of-the-sweep';

const sweepToken = { name: 'sweep', secret: testToken };

/** Names of the node on which the driver runs, and of another node. */
export const here = 'worker-1';
export const elsewhere = 'worker-2';

/** The region, location or zone of each provider's instances in the tests. */
export const places = {
  cloud1: 'fra1',
  cloud2: 'fsn1',
  cloud3: 'eu-central-1a',
  cloud4: 'europe-west3-a',
} as const;

/** The driver of each provider. */
export const driverNames = {
  cloud1: 'cloud1-volume',
  cloud2: 'cloud2-volume',
  cloud3: 'cloud3-block',
  cloud4: 'cloud4-disk',
} as const satisfies Readonly<Record<ProviderName, string>>;

/** The status with which each provider refuses a request for the rate. */
export const rateStatus = { cloud1: 429, cloud2: 429, cloud3: 503, cloud4: 403 } as const;

/** The service account of cloud4, whose key the tests share. */
export const sweepAccount = makeServiceAccount('sweep');

/** Options of {@link EmulatedCloud}. */
export type CloudChoice = Pick<
  EmulatorOptions,
  'instances' | 'volumesMax' | 'actionMs' | 'requestsMax' | 'perPage'
>;

/** A provider, its disks and its driver in one process on one clock. It needs no socket. */
export class EmulatedCloud {
  readonly provider: ProviderName;
  readonly disks: KeptDisks;
  readonly clock: DrivenClock;
  readonly emulator: Emulator;
  /** Paths at which the node of {@link driver} has devices mounted. */
  mounted: readonly string[] = [];
  readonly #links: string;

  constructor(provider: ProviderName, folder: string, choice: CloudChoice = {}) {
    this.provider = provider;
    this.disks = new KeptDisks(folder);
    this.clock = new DrivenClock(() => this.disks.busy > 0);
    this.#links = '/double/links';
    const place = places[provider];
    this.emulator = createEmulator({
      provider,
      clock: this.clock,
      devices: this.disks,
      random: seededRandom(1),
      instances: [
        { name: here, place },
        { name: elsewhere, place },
      ],
      tokens: [
        provider === 'cloud4'
          ? sweepAccount.token
          : {
              ...sweepToken,
              ...(provider === 'cloud1' ? { scopes: specifiedScopes } : {}),
            },
      ],
      ...choice,
    }).emulator;
  }

  get driverName(): string {
    return driverNames[this.provider];
  }

  /** Creates an instance of the driver, as after a restart of its node. */
  async driver(
    transport = transportTo(this.emulator),
    { clock = this.clock, node = here }: { readonly clock?: Clock; readonly node?: string } = {},
  ): Promise<Driver> {
    const found = await builtinDrivers({
      localVolumeRoot: '/nowhere',
      hostPathAllowlist: [],
      allowCreateMissing: false,
      node,
      clusterId: 'cluster-1',
      host: {
        ...hostSeeing((link) => this.disks.linked(node, link)),
        mounts: () => Promise.resolve(this.mounted.map(mountAt)),
        deviceNumber: () => Promise.resolve(mountAt('').device),
      },
      drivers: { [this.driverName]: { deviceDirectory: this.#links } },
      providers: { clock, transport },
    }).get(this.driverName);
    if (!found) throw new Error(`no driver ${this.driverName}`);
    return found;
  }

  /** Makes a first call, which loads the SDK of a driver that has one. It takes many seconds on a loaded machine. */
  async loadSdk(): Promise<void> {
    if (this.provider === 'cloud1' || this.provider === 'cloud2') return;
    const driver = await this.driver();
    const { signal } = new AbortController();
    // The emulator objects to an id that the definition does not permit.
    const handle = this.provider === 'cloud3' ? 'vol-00000000000000000' : 'none';
    const request = { parameters: this.parameters, node: here, signal, handle };
    await driver.find?.(request).catch(() => undefined);
  }

  /** The parameters of a storage class. */
  get parameters(): Readonly<Record<string, string>> {
    const place = places[this.provider];
    switch (this.provider) {
      case 'cloud1':
      case 'cloud2':
        return { region: place, apiToken: testToken };
      case 'cloud3': {
        const keys = { accessKeyId: keyIdOf(sweepToken), secretAccessKey: testToken };
        return { region: place.slice(0, -1), availabilityZone: place, ...keys };
      }
      case 'cloud4': {
        const { credentialsJSON } = sweepAccount;
        return { zone: place, project: emulatedProject, credentialsJSON };
      }
    }
  }

  /** Repeats a call until it is no longer pending. Its waits take no real time. */
  over<T>(
    call: () => Promise<T>,
    signal: CallContext['signal'] = new AbortController().signal,
  ): Promise<Exclude<T, { readonly type: 'pending' }>> {
    const wait = (ms: number): Promise<void> => pauseOn(this.clock, ms, signal);
    return this.clock.during(() => untilOver(call as never, wait));
  }
}

function mountAt(target: string): MountEntry {
  const [device, fsType] = ['8:0', 'ext4'];
  return { device, fsType, root: '/', target, readOnly: false, source: '/dev/sda' };
}

/**
 * Returns a host on which every attached disk exists as a block device. `linked` returns the id of a disk by its link.
 */
export function hostSeeing(linked: (link: string) => string | undefined): NodeHost {
  const real = nodeHost();
  return {
    ...real,
    run: () => Promise.resolve({ exitCode: 0, stdout: '', stderr: '' }),
    files: {
      ...real.files,
      realPath: (path) => {
        const id = linked(basename(path));
        return Promise.resolve(id === undefined ? undefined : join('/double/disks', id));
      },
      kindAt: () => Promise.resolve('blockDevice'),
    },
  };
}

/** Returns a transport that passes requests to an emulator without a socket. */
export function transportTo(emulator: Emulator): Transport {
  return async ({ method, url, headers, body = '', signal }) => {
    const query = [...url.searchParams];
    const asked = { method, path: url.pathname, query, headers, body };
    return replyOf(await emulator.exchange(asked), signal);
  };
}

/** Converts the emulator's reaction to the result of a {@link Transport}. @throws TransportError */
function replyOf(delivery: Delivery, signal: TransportRequest['signal']): ReturnType<Transport> {
  switch (delivery.type) {
    case 'reply': {
      const { status, headers, body } = delivery.reply;
      return Promise.resolve({ status, headers, text: body });
    }
    case 'reset':
      return Promise.reject(new TransportError('ECONNRESET', true));
    case 'silence':
    case 'endless':
      return new Promise((_, reject) => {
        const end = (): void => reject(new TransportError('aborted', true));
        signal.addEventListener('abort', end, { once: true });
        if (signal.aborted) end();
      });
  }
}
