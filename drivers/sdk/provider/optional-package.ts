import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DriverError } from '../errors/errors.js';
import { packageFolder } from './package-folder.js';

/** A package that only one driver needs. It is not installed with Kedge. */
export interface OptionalPackage {
  readonly name: string;
  /** The version that Kedge is tested with. */
  readonly version: string;
  /** The driver that needs it. */
  readonly driver: string;
}

/** Where packages are looked for, and the command that installs one there. */
export interface PackagePlace {
  /** A path within the place; the modules of Node.js are resolved from there. */
  readonly from: string;
  /** The command without the name of the package. */
  readonly command: string;
}

const here = fileURLToPath(import.meta.url);

/** The place of a program that consists of this module's file, or of a bundle that contains it. */
export function placeOf(file: string): PackagePlace {
  const [above = '', inside] = file.split(`${sep}node_modules${sep}`);
  if (inside !== undefined)
    // A global installation has no package.json beside its node_modules.
    return existsSync(join(above, 'package.json'))
      ? { from: file, command: `npm install --prefix ${above}` }
      : { from: file, command: 'npm install --global' };
  let root = dirname(file);
  while (!existsSync(join(root, 'node_modules')) && root !== dirname(root)) root = dirname(root);
  // A checkout: its lock file remains unchanged.
  return { from: file, command: `npm install --no-save --prefix ${root}` };
}

/** The place of a folder that is made for packages alone. */
export function folderPlace(folder: string): PackagePlace {
  return { from: join(folder, 'any.js'), command: `npm install --prefix ${folder}` };
}

/** The place of this program. */
export function ownPlace(): PackagePlace {
  return packageFolder === undefined ? placeOf(here) : folderPlace(packageFolder);
}

/**
 * Loads a package at its first use. A package that is installed later is found without a restart.
 * @throws DriverError Unavailable if it is not installed, with the command that installs it; Internal if it is broken
 */
export function loadOptional(
  { name, version, driver }: OptionalPackage,
  { from, command }: PackagePlace = ownPlace(),
): unknown {
  const require = createRequire(from);
  try {
    return require(name);
  } catch (thrown) {
    const { code, message } = thrown as NodeJS.ErrnoException;
    const isAbsent = code === 'MODULE_NOT_FOUND' && message.includes(`'${name}'`);
    if (!isAbsent)
      throw new DriverError('Internal', `package ${name} can't be loaded: ${message}`, {
        cause: thrown,
      });
    const remedy = `run: ${command} ${name}@${version}`;
    throw new DriverError(
      'Unavailable',
      `driver ${driver} needs the package ${name}, which is not installed; ${remedy}`,
      { remedy },
    );
  }
}
