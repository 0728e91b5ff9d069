import { credentialsNamed } from '@kedge/driver-sdk/parameters';
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
}

/**
 * The secrets that driver calls need while the class of an object exists, as `<namespace>/<name>`. Credentials are known
 * by their names, because no driver is asked; literals count as the same, because no component but a driver call sees
 * them.
 */
export function secretsWithClass(object: NeededOf, ofClass: Parameters = {}): readonly string[] {
  const { parameters: own = {}, driverParameters, namespace } = object;
  const declared = credentialsNamed({ ...driverParameters, ...ofClass, ...own });
  const isByKey = declared !== undefined && wasMergedByKey(declared, object, own, mayBeSame);
  return referencedSecrets(mergeWithClass(declared, ofClass, own, isByKey), namespace);
}

/**
 * The secrets that driver calls need once the class of an object does not exist. Captured credentials that
 * {@link keptBeside} leaves out are not needed.
 */
export function secretsWithoutClass(object: NeededOf): readonly string[] {
  const { parameters: own = {}, driverParameters = {}, namespace } = object;
  const declared = credentialsNamed({ ...driverParameters, ...own });
  const kept = declared ? keptBeside(declared, object, own, mayBeSame) : driverParameters;
  return referencedSecrets({ ...kept, ...own }, namespace);
}

/** The captured parameters that the source of a snapshot had itself. */
export function capturedOwn({ driverParameters = {}, ownParameters = [] }: Captured): Parameters {
  const own = Object.entries(driverParameters).filter(([key]) => ownParameters.includes(key));
  return Object.fromEntries(own);
}
