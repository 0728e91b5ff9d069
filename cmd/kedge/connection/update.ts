import { isDeepStrictEqual } from 'node:util';
import { hasCode, invalid } from 'kedge/objects';
import type { ApiClient } from 'kedge/client';
import { bodyField, isJsonObject, type JsonObject, textOf } from 'kedge/rpc';
import { canDo, methodFor } from './api.js';
import { writableOf } from './fields.js';
import { scopeOf, type Target } from './targets.js';

/** Maximum number of consecutive conflicts. More indicate a writer that writes continuously. */
const triesMax = 5;

/**
 * Reads one object in the form of a write, with its version.
 * @throws StatusError InvalidArgument for a kind whose objects can't be changed
 */
export async function readObject(
  client: ApiClient,
  target: Target,
  namespace: string,
): Promise<JsonObject> {
  const { kind, name } = target;
  if (!canDo(kind, 'Update'))
    throw invalid([
      { field: 'TYPE', description: `${kind.plural} can't be changed after their creation` },
    ]);
  const request = { ...scopeOf(kind, namespace), name };
  return writableOf(kind, await client.call(methodFor(kind, 'Get'), request));
}

/** The version in which an object was read. */
export function versionOf(object: JsonObject): string {
  return isJsonObject(object.metadata) ? textOf(object.metadata, 'resourceVersion') : '';
}

/**
 * Replaces an object if it still has the version of the given one.
 * @returns whether the write changed anything
 * @throws StatusError Aborted if the object was changed meanwhile
 */
export async function putObject(
  client: ApiClient,
  { kind, name }: Target,
  object: JsonObject,
  { namespace, dryRun = false }: { readonly namespace: string; readonly dryRun?: boolean },
): Promise<boolean> {
  const request = {
    ...scopeOf(kind, namespace),
    name,
    [bodyField(kind)]: object,
    ...(dryRun ? { dryRun } : {}),
  };
  // A write whose answer was lost may have been committed. A retry would then conflict with its own version.
  const stored = await client.call(methodFor(kind, 'Update'), request, { attempts: 1 });
  return versionOf(stored) !== versionOf(object);
}

/** A change to be made to an object. */
export interface Change {
  readonly namespace: string;
  readonly dryRun?: boolean;
  readonly change: (object: JsonObject) => JsonObject;
}

/**
 * Reads an object, changes it, and writes it with the version that was read. Starts again after a conflict.
 * @returns whether the write changed anything; for a dry run, whether the changed object differs from the one read
 * @throws StatusError Aborted after repeated conflicts, or after the first one if the change sets the version
 */
export async function changeObject(
  client: ApiClient,
  target: Target,
  { change, namespace, dryRun = false }: Change,
): Promise<boolean> {
  for (let tries = 1; ; tries += 1) {
    const before = await readObject(client, target, namespace);
    const after = change(before);
    if (isDeepStrictEqual(before, after)) return false;
    try {
      const changed = await putObject(client, target, after, { namespace, dryRun });
      return changed || dryRun;
    } catch (error) {
      const own = versionOf(before) !== versionOf(after);
      if (own || tries === triesMax || !hasCode(error, 'Aborted')) throw error;
    }
  }
}
