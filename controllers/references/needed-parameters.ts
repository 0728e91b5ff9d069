import type { CredentialsByDriver } from '@kedge/driver-sdk/parameters';
import {
  type Captured,
  keptBeside,
  mayBeSame,
  mergeWithClass,
  wasMergedByKey,
} from './credential-merge.js';
import { referencedSecrets } from './secret-reference.js';

type Parameters = Readonly<Record<string, string>>;

/** Parameters of a volume, or of a snapshot with those of its source. */
export interface NeededOf extends Captured {
  /** Namespace of short references. */
  readonly namespace: string;
  /** Those that the volume has itself. */
  readonly parameters?: Parameters | undefined;
  /** Its driver; absent or empty before it is provisioned. */
  readonly driver?: string | undefined;
}

/** The class of an object. */
interface ClassOf {
  readonly driver: string;
  readonly parameters?: Parameters | undefined;
}

/**
 * The secrets that driver calls need while the class of an object exists, as `<namespace>/<name>`. The calls of a driver
 * whose credentials are not known may use all parameters, merged key by key. Literals count as the same, because no
 * component but a driver call sees them.
 * @param storageClass the class of the object; undefined: no class gives it parameters
 */
export function secretsWithClass(
  object: NeededOf,
  storageClass: ClassOf | undefined,
  credentials: CredentialsByDriver,
): readonly string[] {
  const { parameters: own = {}, namespace } = object;
  const { parameters: ofClass = {} } = storageClass ?? {};
  const declared = credentials.get(object.driver || (storageClass?.driver ?? ''));
  const isByKey = declared !== undefined && wasMergedByKey(declared, object, own, mayBeSame);
  return referencedSecrets(mergeWithClass(declared, ofClass, own, isByKey), namespace);
}

/**
 * The secrets that driver calls need once the class of an object does not exist. Captured credentials that
 * {@link keptBeside} leaves out are not needed, if those of the driver are known.
 */
export function secretsWithoutClass(
  object: NeededOf,
  credentials: CredentialsByDriver,
): readonly string[] {
  const { parameters: own = {}, driverParameters = {}, namespace, driver = '' } = object;
  const declared = credentials.get(driver);
  const kept = declared ? keptBeside(declared, object, own, mayBeSame) : driverParameters;
  return referencedSecrets({ ...kept, ...own }, namespace);
}

/**
 * All secrets that {@link secretsWithoutClass} returns for at least one declaration of credentials: for indexes, which
 * depend on the object alone.
 */
export function secretsOfAnyDriver(object: NeededOf): readonly string[] {
  return secretsWithoutClass(object, new Map());
}

/** The captured parameters that the source of a snapshot had itself. */
export function capturedOwn({ driverParameters = {}, ownParameters = [] }: Captured): Parameters {
  const own = Object.entries(driverParameters).filter(([key]) => ownParameters.includes(key));
  return Object.fromEntries(own);
}
