import { isAbsolute } from 'node:path';
import type { FieldViolation } from 'kedge';
import { configurableDrivers } from '@kedge/drivers';
import type { DriverSettings } from '@kedge/driver-sdk';
import { atLeastOne, text } from './setting-values.js';

/** A setting of a cloud driver: its key below `drivers.<name>`, and how its value is read, stored and printed. */
interface DriverSetting {
  readonly key: string;
  readonly rule: string;
  readonly parse: (value: unknown) => string | number | undefined;
  readonly put: (settings: DriverSettings, value: never) => DriverSettings;
  readonly printed: (settings: DriverSettings) => string | number | undefined;
  /** Whether only drivers with a token have the setting. */
  readonly forToken?: true;
}

/**
 * Returns scheme, host and port of a URL without anything else; undefined for another value. The driver adds the
 * version of the interface.
 */
function origin(value: unknown): string | undefined {
  if (typeof value !== 'string' || !URL.canParse(value)) return undefined;
  const { protocol, origin: whole, pathname, search, hash, username, password } = new URL(value);
  const isBare = pathname === '/' && `${search}${hash}${username}${password}` === '';
  return isBare && (protocol === 'http:' || protocol === 'https:') ? whole : undefined;
}

function directory(value: unknown): string | undefined {
  const path = text(value);
  return path !== undefined && isAbsolute(path) ? path : undefined;
}

const label = '[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?';
const secretForm = new RegExp(`^${label}/${label}$`);

function secret(value: unknown): string | undefined {
  const name = text(value);
  return name !== undefined && secretForm.test(name) ? name : undefined;
}

const settings: readonly DriverSetting[] = [
  {
    key: 'endpoint',
    rule: 'the scheme, host and port of the provider, such as https://api.example.com, without a path',
    parse: origin,
    put: (of, endpoint: string) => ({ ...of, endpoint }),
    printed: ({ endpoint }) => endpoint,
  },
  {
    key: 'deviceDirectory',
    rule: 'an absolute directory',
    parse: directory,
    put: (of, deviceDirectory: string) => ({ ...of, deviceDirectory }),
    printed: ({ deviceDirectory }) => deviceDirectory,
  },
  {
    key: 'timeouts.requestMs',
    rule: 'a whole number of milliseconds, at least 1',
    parse: atLeastOne,
    put: (of, requestMs: number) => ({ ...of, timeouts: { ...of.timeouts, requestMs } }),
    printed: ({ timeouts }) => timeouts?.requestMs,
  },
  {
    key: 'timeouts.deviceMs',
    rule: 'a whole number of milliseconds, at least 1',
    parse: atLeastOne,
    put: (of, deviceMs: number) => ({ ...of, timeouts: { ...of.timeouts, deviceMs } }),
    printed: ({ timeouts }) => timeouts?.deviceMs,
  },
  {
    key: 'apiTokenSecretRef',
    rule: 'the secret of a token, as <namespace>/<secret-name>',
    parse: secret,
    put: (of, apiTokenSecretRef: string) => ({ ...of, apiTokenSecretRef }),
    printed: ({ apiTokenSecretRef }) => apiTokenSecretRef,
    forToken: true,
  },
];

const all = configurableDrivers.flatMap(({ name, token }) =>
  settings
    .filter(({ forToken }) => forToken === undefined || token)
    .map((setting) => ({ driver: name, setting, key: `drivers.${name}.${setting.key}` })),
);

/** Keys of the settings of drivers. */
export const driverKeys: readonly string[] = all.map(({ key }) => key);

/** The settings of drivers, by the name of the driver. Settings that are not set are absent. */
export type DriverTable = Readonly<Record<string, DriverSettings>>;

/** Reads the settings of drivers. Invalid values are added to `violations`. */
export function readDriverSettings(
  given: (key: string) => unknown,
  violations: FieldViolation[],
): DriverTable {
  const table: Record<string, DriverSettings> = {};
  for (const { driver, setting, key } of all) {
    const value = given(key);
    if (value === undefined) continue;
    const parsed = setting.parse(value);
    if (parsed === undefined)
      violations.push({
        field: key,
        description: `${JSON.stringify(value)} must be ${setting.rule}`,
      });
    else table[driver] = setting.put(table[driver] ?? {}, parsed as never);
  }
  return table;
}

/** The given settings of drivers by their keys. */
export function driverSettingsByKey(table: DriverTable): readonly (readonly [string, unknown])[] {
  return all.flatMap(({ driver, setting, key }) => {
    const value = setting.printed(table[driver] ?? {});
    return value === undefined ? [] : [[key, value] as const];
  });
}
