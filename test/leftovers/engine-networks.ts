import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Interfaces of networks and containers of all engines of this process, including engines that were removed. */
const known = new Set<string>();

function isThere(name: string): boolean {
  return readdirSync('/sys/class/net').includes(name);
}

/** The existing interfaces that an engine created. Its database also has interfaces that it removed. */
export function interfacesOf(engineDirectory: string): readonly string[] {
  let database = '';
  try {
    const file = join(engineDirectory, 'data/network/files/local-kv.db');
    database = readFileSync(file, 'latin1');
  } catch {
    // The directory is not of an engine, or the engine has no database yet.
  }
  const found = database.match(/\b(?:br-[0-9a-f]{12}|veth[0-9a-f]{7})/g) ?? [];
  for (const name of found) known.add(name);
  return [...new Set(found)].filter(isThere);
}

/**
 * The existing interfaces of all engines of this process.
 * @param directory parent of the directories of engines
 */
export function engineInterfaces(directory: string): readonly string[] {
  for (const name of readdirSync(directory)) interfacesOf(join(directory, name));
  return [...known].filter(isThere);
}
