import { homedir, hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { invalid, type FieldViolation } from 'kedge';
import { type ControllerPolicy, policyKeys, readPolicy } from '@kedge/controllers/policy';
import { requireSafeListening } from './listening.js';
import { nearest } from '../../near-miss.js';
import {
  type DriverTable,
  driverKeys,
  driverSettingsByKey,
  readDriverSettings,
} from './driver-settings.js';
import { environmentName, misspeltVariables } from './misspelt-variables.js';
import {
  absolutePaths,
  atLeastOne,
  auditScope,
  bool,
  ipAddress,
  level,
  map,
  nonEmpty,
  path,
  percent,
  text,
  texts,
  whole,
} from './setting-values.js';

interface Setting<T> {
  readonly key: string;
  readonly flag?: string;
  readonly parse: (value: unknown) => T | undefined;
  readonly rule: string;
  readonly fallback: T;
}

function defaultDataDirectory(): string {
  if (process.getuid?.() === 0) return '/var/lib/kedge';
  const data = process.env.XDG_DATA_HOME || join(homedir(), '.local', 'share');
  return join(data, 'kedge');
}

const aFile = 'a file, as a path without ~';

const settings = {
  grpcAddress: {
    key: 'server.grpcAddress',
    flag: '--grpc-address',
    parse: text,
    rule: 'host:port',
    fallback: '127.0.0.1:7863',
  },
  restAddress: {
    key: 'server.restAddress',
    flag: '--rest-address',
    parse: text,
    rule: 'host:port',
    fallback: '127.0.0.1:7861',
  },
  opsAddress: {
    key: 'server.opsAddress',
    flag: '--ops-address',
    parse: text,
    rule: 'host:port',
    fallback: '127.0.0.1:7864',
  },
  allowInsecure: {
    key: 'server.allowInsecure',
    parse: bool,
    rule: 'true or false',
    fallback: false,
  },
  tlsCertFile: {
    key: 'server.tls.certFile',
    parse: path,
    rule: 'a file with a certificate chain (PEM), as a path without ~',
    fallback: '',
  },
  tlsKeyFile: {
    key: 'server.tls.keyFile',
    parse: path,
    rule: 'a file with a private key (PEM), as a path without ~',
    fallback: '',
  },
  tlsClientCaFile: {
    key: 'server.tls.clientCaFile',
    parse: path,
    rule: 'a file with the authorities of client certificates (PEM), as a path without ~',
    fallback: '',
  },
  corsOrigins: {
    key: 'server.corsOrigins',
    parse: texts,
    rule: 'a list of origins, such as https://console.example.com',
    fallback: [] as readonly string[],
  },
  maxConnections: {
    key: 'server.maxConnections',
    parse: atLeastOne,
    rule: 'a whole number, at least 1',
    fallback: 2_000,
  },
  dataDirectory: {
    key: 'store.path',
    flag: '--data-directory',
    parse: path,
    rule: 'a directory, as a path without ~',
    fallback: '',
  },
  defaultStorageClass: {
    key: 'storage.defaultStorageClass',
    parse: text,
    rule: 'the name of a storage class',
    fallback: 'local',
  },
  localVolumeRoot: {
    key: 'storage.localVolumeRoot',
    parse: path,
    rule: 'a directory, as a path without ~',
    fallback: '',
  },
  hostPathAllowlist: {
    key: 'storage.hostPathAllowlist',
    parse: absolutePaths,
    rule: 'a list of absolute paths',
    fallback: [] as readonly string[],
  },
  allowCreateMissing: {
    key: 'storage.allowCreateMissing',
    parse: bool,
    rule: 'true or false',
    fallback: false,
  },
  nodeName: {
    key: 'node.name',
    flag: '--node-name',
    parse: nonEmpty,
    rule: 'a name',
    fallback: hostname().toLowerCase(),
  },
  nodeLabels: {
    key: 'node.labels',
    parse: map,
    rule: 'a table of strings; in a variable KEY=VALUE, with commas between them',
    fallback: {},
  },
  shutdownTimeoutSeconds: {
    key: 'runtime.shutdownTimeoutSeconds',
    parse: whole,
    rule: 'a whole number of seconds',
    fallback: 60,
  },
  dockerSocket: {
    key: 'runtime.dockerSocket',
    parse: path,
    rule: 'the unix socket of a container engine, as a path without ~',
    fallback: '/var/run/docker.sock',
  },
  imageDiskHighPercent: {
    key: 'runtime.imageDiskHighPercent',
    parse: percent,
    rule: 'a whole number from 1 to 100',
    fallback: 85,
  },
  hostPortAddress: {
    key: 'runtime.hostPortAddress',
    parse: ipAddress,
    rule: 'an IP address of this machine, such as 127.0.0.1, or 0.0.0.0 for all',
    fallback: '127.0.0.1',
  },
  kekFile: { key: 'secrets.kekFile', parse: path, rule: aFile, fallback: '' },
  audit: {
    key: 'log.audit',
    parse: auditScope,
    rule: 'writes, all or off',
    fallback: 'writes',
  },
  auditFile: { key: 'log.auditFile', parse: path, rule: aFile, fallback: '' },
  logLevel: {
    key: 'log.level',
    flag: '--log-level',
    parse: level,
    rule: 'debug, info, warn, error or silent',
    fallback: 'info',
  },
} satisfies Readonly<Record<string, Setting<unknown>>>;

type Settings = typeof settings;

/** The configuration of kedged, with a value for every setting. */
export type DaemonConfig = {
  readonly [K in keyof Settings]: NonNullable<ReturnType<Settings[K]['parse']>>;
} & {
  readonly policy: ControllerPolicy;
  readonly drivers: DriverTable;
  readonly configFile?: string;
};

/** Flags by the key they set. */
export const settingFlags: readonly { readonly flag: string; readonly key: string }[] =
  Object.values(settings).flatMap((s) => ('flag' in s ? [{ flag: s.flag, key: s.key }] : []));

/** Returns the values of a configuration by the keys of its file. */
export function settingsByKey(config: DaemonConfig): ReadonlyMap<string, unknown> {
  const values: Readonly<Record<string, unknown>> = config;
  const byKey = new Map<string, unknown>();
  for (const [name, { key }] of Object.entries(settings)) byKey.set(key, values[name]);
  for (const [name, value] of Object.entries(config.policy))
    byKey.set(`controllers.${name}`, value);
  return new Map([...byKey, ...driverSettingsByKey(config.drivers)]);
}

/** Sources of settings, strongest first. */
export interface SettingSources {
  /** Values of flags by key. */
  readonly flags: Readonly<Record<string, string>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The parsed file: tables of keys. */
  readonly file: Readonly<Record<string, unknown>>;
  /** The profile's settings that differ from the defaults, by key. */
  readonly profile: Readonly<Record<string, unknown>>;
}

/** Flattens tables to dotted keys, except tables that are themselves the value of a setting. */
function flatten(
  file: Readonly<Record<string, unknown>>,
  known: ReadonlySet<string>,
): Map<string, unknown> {
  const flat = new Map<string, unknown>();
  const walk = (table: object, prefix: string): void => {
    for (const [name, value] of Object.entries(table) as [string, unknown][]) {
      const key = `${prefix}${name}`;
      const inner = typeof value === 'object' && value !== null && !Array.isArray(value);
      if (inner && !known.has(key)) walk(value, `${key}.`);
      else flat.set(key, value);
    }
  };
  walk(file, '');
  return flat;
}

/** The setting that an unknown key resembles, else the settings of its section, else the sections. */
function hintFor(key: string, known: readonly string[]): string {
  const meant = nearest(key, known);
  if (meant) return `did you mean ${meant}?`;
  const sectionOf = (each: string): string => each.slice(0, each.indexOf('.'));
  const section = sectionOf(key);
  const ofSection = known.filter((each) => sectionOf(each) === section);
  if (ofSection.length > 0) return `[${section}] has ${ofSection.join(', ')}`;
  const sections = [...new Set(known.map(sectionOf))];
  return `the sections are ${sections.map((each) => `[${each}]`).join(', ')}`;
}

/**
 * Flags over environment over file over profile over defaults.
 * @throws StatusError InvalidArgument naming every unknown key, every misspelt variable and every value
 *   that can't be read.
 */
export function resolveSettings(sources: SettingSources): DaemonConfig {
  const violations: FieldViolation[] = [];
  const keys = Object.values(settings).map((s) => s.key);
  const known = new Set<string>([...keys, ...policyKeys, ...driverKeys]);
  const file = flatten(sources.file, known);
  for (const key of [...file.keys()].filter((each) => !known.has(each))) {
    violations.push({ field: key, description: `is not a setting; ${hintFor(key, [...known])}` });
  }
  violations.push(...misspeltVariables(sources.environment, known));
  const config: Record<string, unknown> = {};
  const givenFor = (key: string): unknown =>
    sources.flags[key] ??
    sources.environment[environmentName(key)] ??
    file.get(key) ??
    sources.profile[key];
  for (const [name, setting] of Object.entries(settings)) {
    const { key } = setting;
    const given = givenFor(key);
    const parsed = given === undefined ? setting.fallback : setting.parse(given);
    if (parsed === undefined)
      violations.push({
        field: key,
        description: `${JSON.stringify(given)} must be ${setting.rule}`,
      });
    config[name] = parsed;
  }
  config.drivers = readDriverSettings(givenFor, violations);
  const policy = readPolicy(givenFor);
  if (policy.type === 'valid') config.policy = policy.policy;
  else violations.push(...policy.violations);
  if (violations.length > 0) throw invalid(violations);
  // Paths are made absolute, because supervisors and workloads run in other working directories.
  const dataDirectory = resolve((config.dataDirectory as string) || defaultDataDirectory());
  const complete = {
    ...config,
    dataDirectory,
    localVolumeRoot: resolve((config.localVolumeRoot as string) || join(dataDirectory, 'volumes')),
  } as DaemonConfig;
  requireSafeListening(complete);
  return complete;
}
