/**
 * The built-in drivers, by name. Each is loaded at its first use, so that a provider's SDK is loaded only if a
 * class uses it.
 */
import type { Driver, DriverFactory, DriverRegistry, StorageSettings } from '@kedge/driver-sdk';

type Load = () => Promise<{ readonly createDriver: DriverFactory }>;

const builtin: Readonly<Record<string, Load>> = {
  local: () => import('./local/index.js'),
  'local-host': () => import('./local-host/index.js'),
  'cloud1-volume': () => import('./cloud1-volume/index.js'),
  'cloud2-volume': () => import('./cloud2-volume/index.js'),
  'cloud3-block': () => import('./cloud3-block/index.js'),
  'cloud4-disk': () => import('./cloud4-disk/index.js'),
};

/** The built-in drivers with this node's settings. */
export function builtinDrivers(settings: StorageSettings): DriverRegistry {
  const loaded = new Map<string, Promise<Driver>>();
  return {
    names: Object.keys(builtin),
    credentialsOf(name) {
      const { apiTokenSecretRef = '' } = settings.drivers?.[name] ?? {};
      return apiTokenSecretRef === '' ? {} : { apiTokenSecretRef };
    },
    get(name) {
      const load = Object.hasOwn(builtin, name) ? builtin[name] : undefined;
      if (!load) return Promise.resolve(undefined);
      let driver = loaded.get(name);
      if (!driver) {
        driver = load().then((module) => module.createDriver(settings));
        loaded.set(name, driver);
      }
      return driver;
    },
  };
}
