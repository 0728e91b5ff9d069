import { join } from 'node:path';
import { systemClock } from 'kedge';
import type { DriverSettings } from '@kedge/driver-sdk';
import { machineClock, type ProviderClock } from '@kedge/driver-sdk/provider';
import { specifiedScopes } from '../cloud1/machine.js';
import { specifiedPermissions as keyPermissions } from '../cloud3/machine.js';
import type { Token } from '../core/machine.js';
import { LoopDevices } from '../devices/loop-devices.js';
import {
  type EmulatorOptions,
  type ProviderName,
  type RunningEmulator,
  startEmulator,
} from '../index.js';
import { emulatedProject } from '../cloud4/service-account.js';
import { driverNames, places, sweepAccount } from '../sweep/emulated-cloud.js';

/** The longest wait of a driver between two polls of an action, milliseconds. */
const pollMsMax = 1_000;

const startedAt = machineClock.now();

/**
 * The machine's clock with a tenth of each wait between polls: the emulator's actions take 10 ms. Deadlines are longer
 * and keep their length. Its time of day runs ten times as fast, so that a driver makes as many polls as usual within
 * the time for which a provider's lists may lag.
 */
export const clockOfShortPolls: ProviderClock = {
  ...machineClock,
  now: () => startedAt + (machineClock.now() - startedAt) * 10,
  setTimer: (callback, delayMs) =>
    machineClock.setTimer(callback, delayMs <= pollMsMax ? delayMs / 10 : delayMs),
};

/** A provider over HTTP whose attached volumes are loop devices of this machine. */
export class ServedCloud {
  readonly running: RunningEmulator;
  readonly devices: LoopDevices;
  readonly provider: ProviderName;
  readonly deviceDirectory: string;

  private constructor(
    provider: ProviderName,
    running: RunningEmulator,
    devices: LoopDevices,
    deviceDirectory: string,
  ) {
    this.provider = provider;
    this.running = running;
    this.devices = devices;
    this.deviceDirectory = deviceDirectory;
  }

  /** @param node the instance whose devices appear on this machine; a second one is named "other" */
  static async start(
    provider: ProviderName,
    {
      folder,
      node,
      token,
    }: { readonly folder: string; readonly node: string; readonly token: string },
    choice: Partial<EmulatorOptions> = {},
  ): Promise<ServedCloud> {
    const deviceDirectory = join(folder, 'by-id');
    const devices = new LoopDevices({
      directory: join(folder, 'disks'),
      deviceDirectory: (instance) => (instance === node ? deviceDirectory : undefined),
      clock: systemClock,
    });
    const place = places[provider];
    const running = await startEmulator({
      provider,
      devices,
      actionMs: 10,
      instances: [node, 'other'].map((name) => ({ name, place })),
      tokens: [tokenOf(provider, 'test', token)],
      // Each driver of a suite has a budget of its own, so they exceed the limit together.
      requestsMax: { hour: 100_000, minute: 100_000 },
      ...choice,
    });
    return new ServedCloud(provider, running, devices, deviceDirectory);
  }

  get driverName(): string {
    return driverNames[this.provider];
  }

  /** `[drivers.<name>]` of a node that is to use it. */
  get settings(): DriverSettings {
    const { deviceDirectory } = this;
    return { endpoint: this.running.endpoint, deviceDirectory, timeouts: { deviceMs: 2_000 } };
  }

  async close(): Promise<void> {
    await this.running.close();
  }
}

/** The parameters of a class whose volumes attach to the instances of {@link ServedCloud}. */
export function parametersOf(
  provider: ProviderName,
  token: string,
): Readonly<Record<string, string>> {
  const place = places[provider];
  switch (provider) {
    case 'cloud1':
    case 'cloud2':
      return { region: place, apiToken: token };
    case 'cloud3': {
      const keys = { accessKeyId: 'test', secretAccessKey: token };
      return { region: regionOf(place), availabilityZone: place, ...keys };
    }
    case 'cloud4': {
      const { credentialsJSON } = sweepAccount;
      return { zone: place, project: emulatedProject, credentialsJSON };
    }
  }
}

/** The region of a zone of cloud3. */
function regionOf(zone: string): string {
  return zone.replace(/[a-z]$/, '');
}

/** The name of the secret parameter in {@link parametersOf}. */
export const credentialKeys = {
  cloud1: 'apiToken',
  cloud2: 'apiToken',
  cloud3: 'secretAccessKey',
  cloud4: 'credentialsJSON',
} as const satisfies Readonly<Record<ProviderName, string>>;

/** The labels of a node in the place of {@link parametersOf}. */
export function labelsOf(provider: ProviderName): Readonly<Record<string, string>> {
  const place = places[provider];
  switch (provider) {
    case 'cloud1':
    case 'cloud2':
      return { 'svc.io/region': place };
    case 'cloud3':
      return { 'svc.io/region': regionOf(place), 'svc.io/zone': place };
    case 'cloud4':
      return { 'svc.io/zone': place };
  }
}

/**
 * A token with the rights of the specification, and at cloud2 with all rights; for cloud4 the service account of the
 * tests.
 */
export function tokenOf(provider: ProviderName, name: string, secret: string): Token {
  if (provider === 'cloud4') return sweepAccount.token;
  if (provider === 'cloud3') return { name, secret, scopes: keyPermissions };
  return { name, secret, ...(provider === 'cloud1' ? { scopes: specifiedScopes } : {}) };
}
