import { readFile } from 'node:fs/promises';
import { invalid } from 'kedge/objects';
import { isJsonObject, type JsonObject } from 'kedge/rpc';

/** Applies a JSON merge patch (RFC 7396): null removes a field, objects are merged, and any other value replaces. */
export function mergePatched(before: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  const after = new Map(Object.entries(isJsonObject(before) ? before : {}));
  for (const [key, value] of Object.entries(patch))
    if (value === null) after.delete(key);
    else after.set(key, mergePatched(after.get(key), value));
  return Object.fromEntries(after);
}

/** The fields that a patch sets: the patch without its nulls. */
export function setBy(patch: JsonObject): JsonObject {
  return mergePatched({}, patch) as JsonObject;
}

async function standardInput(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/**
 * Reads a patch as JSON or YAML: the text itself, `@FILE`, or `-` for standard input.
 * @throws StatusError InvalidArgument; the system's error for a file that can't be read
 */
export async function readPatch(source: string): Promise<JsonObject> {
  const refuse = (description: string): Error => invalid([{ field: '--patch', description }]);
  const file = source.startsWith('@') ? source.slice(1) : undefined;
  const text =
    source === '-'
      ? await standardInput()
      : file === undefined
        ? source
        : await readFile(file, 'utf8');
  const [{ parse }, { tooDeep }] = await Promise.all([
    import('../output/yaml.js'),
    import('./yaml-depth.js'),
  ]);
  const deep = tooDeep(text);
  if (deep) throw refuse(deep.problem);
  let patch: unknown;
  try {
    patch = parse(text) as unknown;
  } catch (error) {
    throw refuse(`is neither JSON nor YAML: ${String(error).split('\n')[0] ?? ''}`);
  }
  if (isJsonObject(patch)) return patch;
  throw refuse(`must be an object of the fields to change, such as {"size": "2Gi"}`);
}
