import type { AdmissionContext, Seen } from 'kedge/server';
import { type StorageClass, storageClasses } from './kind.js';

/**
 * The class of a volume without one: the default class, else the node configuration's [storage].defaultStorageClass, if
 * any.
 */
export async function defaultClassName(
  context: AdmissionContext,
  configured: string | undefined,
): Promise<string | undefined> {
  const classes = await context.lookupAll(storageClasses);
  return classes.find((c) => c.default === true)?.name ?? configured;
}

/** Reads the class of that name, with the changes of the current write; undefined if it does not exist. */
export function classNamed(
  context: AdmissionContext,
  name: string,
): Promise<Seen<StorageClass> | undefined> {
  return context.lookup(storageClasses, { name });
}
