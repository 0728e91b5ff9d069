import Module, { createRequire } from 'node:module';
import { DriverError } from '@kedge/driver-sdk';
import {
  inTurns,
  loadOptional,
  ownPlace,
  type PackagePlace,
  requireInstalled,
} from '@kedge/driver-sdk/provider';
import { type AuthSdk, computePackage, type ComputeSdk, type Sdk } from './sdk.js';

/** Packages that the SDK loads, in the order in which it does; each of them alone takes less time than all at once. */
const parts = ['google-auth-library', '@grpc/grpc-js', 'protobufjs', '@grpc/proto-loader'];

/** The services whose clients the driver uses, with the modules of the clients. */
const services = {
  Disks: 'disks_client',
  Instances: 'instances_client',
  Snapshots: 'snapshots_client',
  ZoneOperations: 'zone_operations_client',
  GlobalOperations: 'global_operations_client',
} as const;

/** A namespace of messages in the form of protobufjs. */
interface Namespace {
  nested?: Record<string, Namespace>;
}

/** Whether a value is an object with fields. */
function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** The names in all texts within a value, such as those of the types of a message's fields. */
function* namesIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield* value.split('.');
  else if (isRecord(value)) for (const each of Object.values(value)) yield* namesIn(each);
}

/**
 * Reduces the definitions of all of Compute Engine to some services and the messages that they need. The SDK converts
 * all definitions at the construction of its first client, which takes seconds.
 * @throws TypeError if they have another form
 */
export function reduceDefinitions(definitions: unknown, wanted: readonly string[]): void {
  const root = definitions as Namespace;
  const compute = root.nested?.['google']?.nested?.['cloud']?.nested?.['compute']?.nested;
  const all = compute?.['v1']?.nested;
  if (!compute || !all || !wanted.every((name) => name in all))
    throw new TypeError('the definitions of the SDK have another form');
  const kept = new Set<string>();
  // The long-running operations of all services.
  const open = [...wanted, 'Operation'];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (kept.has(name)) continue;
    kept.add(name);
    for (const used of namesIn(all[name])) if (used in all && !kept.has(used)) open.push(used);
  }
  for (const name of Object.keys(all)) if (!kept.has(name)) delete all[name];
  for (const version of Object.keys(compute)) if (version !== 'v1') delete compute[version];
}

/** Resolves modules as the SDK does. */
function requiresOf(place: PackagePlace) {
  const ofCompute = createRequire(createRequire(place.from).resolve(computePackage.name));
  return { ofCompute, ofGax: createRequire(ofCompute.resolve('google-gax')) };
}

/**
 * Loads the clients that the driver uses, with the definitions of their services alone. Other users of the SDK in this
 * process get the whole definitions.
 * @throws Error if the SDK has another structure
 */
async function loadClients(place: PackagePlace): Promise<ComputeSdk> {
  const { ofCompute, ofGax } = requiresOf(place);
  await inTurns([
    ...parts.map((part) => () => ofGax(part) as unknown),
    () => ofCompute('google-gax') as unknown,
  ]);
  const path = ofCompute.resolve('../protos/protos.json');
  const { cache } = ofCompute;
  const before = cache[path];
  let clients: ComputeSdk | undefined;
  const clientsWith = (definitions: unknown): ComputeSdk => {
    const reduced = new Module(path);
    reduced.exports = definitions;
    reduced.loaded = true;
    cache[path] = reduced;
    try {
      const modules = Object.values(services).map(
        (file) => ofCompute(`./v1/${file}.js`) as Partial<ComputeSdk>,
      );
      return Object.assign({}, ...modules) as ComputeSdk;
    } finally {
      if (before) cache[path] = before;
      else delete cache[path];
    }
  };
  let definitions: unknown;
  await inTurns([
    () => {
      definitions = ofCompute('../protos/protos.json');
      if (before) definitions = structuredClone(definitions);
      else delete cache[path];
    },
    () => {
      reduceDefinitions(definitions, Object.keys(services));
      clients = clientsWith(definitions);
    },
    () => {
      // The SDK converts the definitions once, for all clients.
      if (clients) new clients.DisksClient(unused);
    },
  ]);
  if (!clients) throw new TypeError('the clients of the SDK are not where they were');
  return clients;
}

const unused = {
  authClient: {
    getRequestHeaders: () => Promise.resolve(new Headers()),
    fetch: () => Promise.reject(new Error('this client makes no request')),
  },
  universeDomain: 'googleapis.com',
};

/**
 * Loads the part of the SDK that the driver uses, in turns of the event loop; all of the SDK if it has another
 * structure.
 * @throws DriverError Unavailable if it is not installed, with the command that installs it; Internal if it
 * can't be loaded
 */
export async function loadSdkInTurns(place: PackagePlace = ownPlace()): Promise<Sdk> {
  requireInstalled(computePackage, place);
  try {
    const compute = await loadClients(place);
    return { compute, auth: requiresOf(place).ofGax('google-auth-library') as AuthSdk };
  } catch {
    return loadSdk(place);
  }
}

/**
 * Loads the whole SDK at once, which takes seconds.
 * @throws DriverError Unavailable if it is not installed, with the command that installs it; Internal if it
 * can't be loaded
 */
export function loadSdk(place: PackagePlace = ownPlace()): Sdk {
  const compute = loadOptional(computePackage, place) as ComputeSdk;
  try {
    // The versions that the SDK itself uses, also if another package has other ones.
    return { compute, auth: requiresOf(place).ofGax('google-auth-library') as AuthSdk };
  } catch (thrown) {
    const { message } = thrown as Error;
    throw new DriverError(
      'Internal',
      `package ${computePackage.name} is not installed completely: ${message}; install it again: ${place.command} ${computePackage.name}@${computePackage.version}`,
      { cause: thrown },
    );
  }
}
