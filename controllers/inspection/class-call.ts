import type { ObjectStore } from 'kedge';
import { messageOf, notFound } from 'kedge';
import type {
  ClassRequest,
  Driver,
  DriverRegistry,
  Parameters,
  ProviderResource,
} from '@kedge/driver-sdk';
import { driverCall } from '../provisioned/driver-call.js';
import { type Holder, holderOf, type ParameterResolver, retried } from '../secret/index.js';
import { type StorageClass, storageClasses } from '../storage-class/kind.js';
import { volumes } from '../volume/kind.js';

/** Dependencies of the methods that ask drivers about a class. */
export interface InspectionOptions {
  readonly drivers: DriverRegistry;
  readonly resolver: ParameterResolver;
  /** The node of this process. */
  readonly here: string;
  /** The id of this cluster, with which its resources are marked. */
  readonly clusterId: string;
}

/** A driver with the parameters of a class, as its volumes use them. */
export interface ClassParameters {
  readonly driver: Driver;
  /** Secret references not yet resolved. */
  readonly parameters: Parameters;
  /** The object that the parameters are bound to. */
  readonly holder: Holder;
}

/** A driver that discloses no parameter values, with the inputs of its calls about a class. */
export interface ClassCall extends ClassParameters {
  readonly request: ClassRequest;
}

/** The message of an error as the answer of a call that is not repeated by itself. */
export function asAnswer(thrown: unknown): string {
  return messageOf(thrown).replace(retried, ', and repeat the command');
}

/** The class of a name. @throws StatusError NotFound */
export async function requireClass(store: ObjectStore, name: string): Promise<StorageClass> {
  const found = await store.get(storageClasses, { name });
  if (!found) throw notFound({ kind: 'StorageClass', name });
  return found;
}

/**
 * The parameters of a class for the volume of a key.
 * @throws DriverError InvalidParameters if its driver is not registered
 */
export async function classParameters(
  { drivers, resolver }: InspectionOptions,
  storageClass: StorageClass,
  volume: { readonly namespace: string; readonly name: string },
): Promise<ClassParameters> {
  const holder = holderOf(volumes, volume);
  const of = { storageClassName: storageClass.name };
  const call = await driverCall({ drivers, resolver, holder }, of, storageClass);
  return { ...call, holder };
}

/** Resolves the secrets of a class. @throws DriverError InvalidParameters that names what is missing */
export async function classCall(
  options: InspectionOptions,
  storageClass: StorageClass,
  volume: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<ClassCall> {
  const of = await classParameters(options, storageClass, volume);
  const resolved = options.resolver.resolve(of.parameters, of.holder);
  return callWith(options, of, resolved, signal);
}

/** The inputs of a call about a class. @param resolved the parameters in plaintext */
export function callWith(
  { resolver, here }: InspectionOptions,
  of: ClassParameters,
  resolved: Parameters,
  signal: AbortSignal,
): ClassCall {
  const { driver } = resolver.confidential(of.driver, of.parameters, resolved);
  return { ...of, driver, request: { parameters: resolved, node: here, signal } };
}

/** A parameter that names another place than that of a resource. */
export interface OtherPlace {
  readonly parameter: string;
  readonly place: string;
}

/** The parameter of a class that names another place than that of a resource; undefined if none does. */
export function otherPlaceOf(
  { driver, request }: Pick<ClassCall, 'driver' | 'request'>,
  { topology = {} }: ProviderResource,
): OtherPlace | undefined {
  const { placeParameters = {} } = driver.capabilities();
  for (const [label, keys] of Object.entries(placeParameters)) {
    const parameter = keys.find((one) => (request.parameters[one] ?? '') !== '');
    const place = topology[label];
    if (parameter === undefined || place === undefined) continue;
    if (request.parameters[parameter] !== place) return { parameter, place };
  }
  return undefined;
}
