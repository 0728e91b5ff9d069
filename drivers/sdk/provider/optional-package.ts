import { existsSync } from 'node:fs';
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
  /** A path within the place; the modules of Node.js are resolved from there. */
  readonly from: string;
  /** The command without the name of the package. */
  readonly command: string;
}

/** A path as an argument of a command. */
function quoted(path: string): string {
  return /^[-\w./@]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

const here = fileURLToPath(import.meta.url);

/** The place of a program that consists of this module's file, or of a bundle that contains it. */
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

/**
 * Requires that a package is installed, without loading it. A package that is installed later is found without a restart.
 * @throws DriverError Unavailable with the command that installs it
 */
export function requireInstalled(
  { name, version, driver }: OptionalPackage,
  { from, command }: PackagePlace = ownPlace(),
): void {
  try {
    createRequire(from).resolve(name);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') return;
    const install = `${command} ${name}@${version}`;
    throw new DriverError(
      'Unavailable',
      `driver ${driver} needs the package ${name}, ${packageMissing.format(install)}`,
      { remedy: `run: ${install}` },
    );
  }
}

/**
 * Loads a package at its first use.
 * @throws DriverError as {@link requireInstalled}; Internal if the package is broken
 */
export function loadOptional(wanted: OptionalPackage, place: PackagePlace = ownPlace()): unknown {
  requireInstalled(wanted, place);
  const { name } = wanted;
  try {
    return createRequire(place.from)(name);
  } catch (thrown) {
    const { message } = thrown as Error;
    throw new DriverError('Internal', `package ${name} can't be loaded: ${message}`, {
      cause: thrown,
    });
  }
}
