import type { StorageClass } from '@kedge/api/kinds';

/**
 * Returns the class that has the name of an object's class, unless it is of another driver: then it was deleted and
 * created again, and its parameters and credentials are for another provider.
 * @param object a volume or snapshot; before it is provisioned it has no driver, and any class is its own
 */
export function liveClass<C extends Pick<StorageClass, 'driver'>>(
  { driver = '' }: { readonly driver?: string | undefined },
  named: C | undefined,
): C | undefined {
  return driver === '' || named?.driver === driver ? named : undefined;
}
