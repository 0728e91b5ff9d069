import { mask } from '../../messages/mask.js';
import { parameterReference } from '../../references/secret-reference.js';
import { castOf } from '../commands.js';
import type { Storage } from '../storage-subject.js';
import type { About } from '../world.js';
import { declaredOf } from './sources.js';

/** The command that changes a class. */
export function editClass(name: string): string {
  return `kedge edit storageclass/${name}`;
}

/**
 * The command that creates the deleted class of an object again, with the parameters that it gave to the object. Literals of
 * its credential are `VALUE`, to be replaced by the user: clients don't see all of them, and their parts belong together.
 * @param credential the parameters of the credential of the class
 */
export function createClass(
  storage: Storage,
  about: About,
  credential: readonly string[] = [],
): string {
  const { object } = storage;
  const { storageClassName = '', driver, driverParameters = {}, ownParameters = [] } = object;
  const ofClass = Object.entries(driverParameters).filter(([key]) => !ownParameters.includes(key));
  const given = Object.fromEntries(ofClass);
  for (const key of credential) given[key] ??= mask;
  const secret = declaredOf(storage, about)?.keys ?? [];
  const shown = ([key, value]: readonly [string, string]): string => {
    const isLiteral = parameterReference(key, value, '').type === 'literal';
    const isCredential = value === mask || (secret.includes(key) && isLiteral);
    return `  ${key}: ${isCredential ? 'VALUE' : JSON.stringify(value)}`;
  };
  const parameters = Object.entries(given).map(shown);
  return castOf([
    ...['kind: StorageClass', `name: ${storageClassName}`, `driver: ${driver || 'local'}`],
    ...(parameters.length > 0 ? ['parameters:', ...parameters] : []),
  ]);
}
