/**
 * The built-in drivers, by name. Each is loaded at its first use, so that a provider's SDK is loaded only if a
 * class uses it.
 */
import { statSync } from 'node:fs';
import type { Driver, DriverFactory, DriverRegistry, StorageSettings } from '@kedge/driver-sdk';
import {
  credentialForms,
  type CredentialsByDriver,
  type DeclaredCredentials,
} from '@kedge/driver-sdk/parameters';

type Load = () => Promise<{ readonly createDriver: DriverFactory }>;

interface Builtin {
  readonly load: Load;
  /** The settings in the section `[drivers.<name>]` of the configuration; absent if the driver has none. */
  readonly settings?: 'provider' | 'providerWithToken';
  /** The credentials that it declares; absent if it has none. */
  readonly credentials?: DeclaredCredentials;
  /** Whether the data of its volumes is on nodes. */
  readonly onNodes?: true;
}

const builtin: Readonly<Record<string, Builtin>> = {
  local: { load: () => import('./local/index.js'), onNodes: true },
  'local-host': { load: () => import('./local-host/index.js'), onNodes: true },
  'cloud1-volume': {
    load: () => import('./cloud1-volume/index.js'),
    settings: 'providerWithToken',
    credentials: credentialForms.tokenOrReference,
  },
  'cloud2-volume': {
    load: () => import('./cloud2-volume/index.js'),
    settings: 'provider',
    credentials: credentialForms.token,
  },
  'cloud3-block': {
    load: () => import('./cloud3-block/index.js'),
    settings: 'provider',
    credentials: credentialForms.accessKey,
  },
  'cloud4-disk': {
    load: () => import('./cloud4-disk/index.js'),
    settings: 'provider',
    credentials: credentialForms.serviceAccount,
  },
};

/** The drivers that `[drivers.<name>]` of the configuration may name, and whether they take `apiTokenSecretRef`. */
export const configurableDrivers: readonly { readonly name: string; readonly token: boolean }[] =
  Object.entries(builtin).flatMap(([name, { settings }]) =>
    settings === undefined ? [] : [{ name, token: settings === 'providerWithToken' }],
  );

/** The credentials that the built-in drivers declare, by name. It loads no driver. */
export const declaredCredentials: CredentialsByDriver = new Map(
  Object.entries(builtin).flatMap(([name, { credentials }]) =>
    credentials === undefined ? [] : [[name, credentials]],
  ),
);

/**
 * Lets Node's module loader resolve symbolic links: it does not after a stat of a socket or pipe until the next stat
 * (nodejs/node#51142). The removal of a folder leaves such a stat if the last file in it was a socket, and an SDK below
 * a linked `node_modules` would be loaded twice or empty.
 */
function resolveLinks(): void {
  statSync('/');
}

/** The built-in drivers with this node's settings. */
export function builtinDrivers(settings: StorageSettings): DriverRegistry {
  const loaded = new Map<string, Promise<Driver>>();
  return {
    names: Object.keys(builtin),
    onNodes: Object.keys(builtin).filter((name) => builtin[name]?.onNodes === true),
    declaredCredentials,
    credentialsOf(name) {
      const { apiTokenSecretRef = '' } = settings.drivers?.[name] ?? {};
      return apiTokenSecretRef === '' ? {} : { apiTokenSecretRef };
    },
    get(name) {
      const load = Object.hasOwn(builtin, name) ? builtin[name]?.load : undefined;
      if (!load) return Promise.resolve(undefined);
      let driver = loaded.get(name);
      if (!driver) {
        resolveLinks();
        driver = load().then((module) => module.createDriver(settings));
        loaded.set(name, driver);
      }
      return driver;
    },
  };
}
