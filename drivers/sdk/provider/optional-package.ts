import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DriverError } from '../errors/errors.js';
import { packageMissing } from '../messages/driver-messages.js';
import { packageFolder } from './package-folder.js';

/** A package that only one driver needs. It is not installed with Kedge. */
export interface OptionalPackage {
  readonly name: string;
  /** The version that Kedge is tested with. */
  readonly version: string;
  /** The driver that needs it. */
  readonly driver: string;
}

/** The place where packages are resolved, and the command that installs one there. */
export interface PackagePlace {
  /** A path within the place, from which Node.js resolves packages. */
  readonly from: string;
  /** The command without the name of the package. */
  readonly command: string;
}

/** A path as an argument of a command. */
function quoted(path: string): string {
  return /^[-\w./@]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

const here = fileURLToPath(import.meta.url);

/** The place of a program whose code is in a file: the folder with the `node_modules` that resolve its packages. */
export function placeOf(file: string): PackagePlace {
  const [above = '', inside] = file.split(`${sep}node_modules${sep}`);
  if (inside !== undefined)
    // A global installation has no package.json beside its node_modules.
    return existsSync(join(above, 'package.json'))
      ? { from: file, command: `npm install --prefix ${quoted(above)}` }
      : { from: file, command: 'npm install --global' };
  let root = dirname(file);
  while (!existsSync(join(root, 'node_modules')) && root !== dirname(root)) root = dirname(root);
  // A checkout: its lock file remains unchanged.
  return { from: file, command: `npm install --no-save --prefix ${quoted(root)}` };
}

/** The place of a folder that is made for packages alone. */
export function folderPlace(folder: string): PackagePlace {
  return { from: join(folder, 'any.js'), command: `npm install --prefix ${quoted(folder)}` };
}

/** The place of this program. */
export function ownPlace(): PackagePlace {
  return packageFolder === undefined ? placeOf(here) : folderPlace(packageFolder);
}

/** The folder of a package in the first of some folders that has it; undefined if none has. */
function folderOf(name: string, folders: readonly string[]): string | undefined {
  return folders
    .map((each) => join(each, name))
    .find((folder) => existsSync(join(folder, 'package.json')));
}

/** The names of the packages that a package in a folder needs; none if its package.json is not complete. */
function neededBy(folder: string): readonly string[] {
  try {
    const read: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const { dependencies = {} } = read as { readonly dependencies?: object };
    return Object.keys(dependencies);
  } catch {
    return [];
  }
}

/**
 * Whether a package is installed, with all its dependencies. Reads the file system instead of calling the module
 * loader: the loader of Node.js 20 caches that a package.json is absent, so a package that is installed after such a
 * lookup would need a restart.
 */
function isInstalled(name: string, from: string): boolean {
  const known = new Set<string>();
  const isThere = (wanted: string, at: string): boolean => {
    const folders = createRequire(at).resolve.paths(wanted);
    // Node.js itself has a module of this name.
    if (!folders) return true;
    const folder = folderOf(wanted, folders);
    if (folder === undefined) return false;
    if (known.has(folder)) return true;
    known.add(folder);
    return neededBy(folder).every((each) =>
      isThere(each, realpathSync(join(folder, 'package.json'))),
    );
  };
  return isThere(name, from);
}

/**
 * Requires that a package is installed, without loading it. A package that is installed later is found without a
 * restart.
 * @throws DriverError Unavailable with the command that installs it
 */
export function requireInstalled(
  { name, version, driver }: OptionalPackage,
  { from, command }: PackagePlace = ownPlace(),
): void {
  if (isInstalled(name, from)) return;
  const install = `${command} ${name}@${version}`;
  throw new DriverError(
    'Unavailable',
    `driver ${driver} needs the package ${name}, ${packageMissing.format(install)}`,
    { remedy: `run: ${install}` },
  );
}

/** The loaded packages by place and name. They are not looked up again. */
const loaded = new Map<string, unknown>();

/**
 * Loads a package at its first use.
 * @throws DriverError as {@link requireInstalled}; Internal if the package is broken
 */
export function loadOptional(wanted: OptionalPackage, place: PackagePlace = ownPlace()): unknown {
  const { name } = wanted;
  const key = `${place.from} ${name}`;
  if (loaded.has(key)) return loaded.get(key);
  requireInstalled(wanted, place);
  try {
    const found: unknown = createRequire(place.from)(name);
    loaded.set(key, found);
    return found;
  } catch (thrown) {
    const { message } = thrown as Error;
    throw new DriverError(
      'Internal',
      `package ${name} can't be loaded: ${message}; install it again: ${place.command} ${name}@${wanted.version}`,
      {
        cause: thrown,
      },
    );
  }
}
