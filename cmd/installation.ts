import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the example manifests, in a checkout as in the published package. */
export const shippedExamples = fileURLToPath(new URL('../examples', import.meta.url));

/** Two levels above the compiled files: the root of a checkout, or a folder of `node_modules`. */
const above = fileURLToPath(new URL('../..', import.meta.url));

/** The commands of the programs from the working directory. */
export interface Installation {
  /** The command before the arguments of `kedge`. */
  readonly kedge: string;
  readonly kedged: string;
  /** The command that starts a daemon for one local user. */
  readonly start: string;
  /** Path of the example manifests, valid from the working directory. */
  readonly examples: string;
}

/** The commands for a working directory. `npx` and `npm start` work only in the root of a checkout. */
function installationAt(workingDirectory: string, root = above): Installation {
  const isCheckout = existsSync(join(root, 'scripts/start.mjs'));
  if (isCheckout && realpathSync(workingDirectory) === realpathSync(root))
    return {
      kedge: 'npx kedge',
      kedged: 'npx kedged',
      start: 'npm start',
      examples: 'docs/examples',
    };
  return {
    kedge: 'kedge',
    kedged: 'kedged',
    start: isCheckout ? `npm --prefix ${root.replace(/\/$/, '')} start` : 'kedged --local',
    examples: shippedExamples,
  };
}

/**
 * The commands for the working directory of this process. For a removed working directory they contain absolute paths.
 */
export function installation(): Installation {
  let workingDirectory = '/';
  try {
    workingDirectory = process.cwd();
  } catch {
    // The working directory was removed: use absolute paths.
  }
  return installationAt(workingDirectory);
}
