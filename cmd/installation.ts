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
  /** The command that starts the daemon: that of the Debian package, else one for one local user. */
  readonly start: string;
  /** The remedy of a user without a token, as text after a semicolon. */
  readonly firstToken: string;
  /** Path of the example manifests, valid from the working directory. */
  readonly examples: string;
}

/** The directory above that of the programs of the Debian package. */
const aboveDebian = '/usr/lib/';

const bootstrap = 'curl -fsS -X POST http://127.0.0.1:7861/v1/admin/bootstrap | kedge login';

/**
 * The commands for a working directory. `npx` and `npm start` work only in the root of a checkout. The daemon of the
 * Debian package has the default ports, so that one for a local user would not start beside it.
 * @param root two levels above the compiled files
 * @param isSystemd whether systemd runs on this machine
 */
export function installationAt(
  workingDirectory: string,
  root: string,
  isSystemd: boolean,
): Installation {
  const isCheckout = existsSync(join(root, 'scripts/start.mjs'));
  const forLocalUser = (start: string): Pick<Installation, 'start' | 'firstToken'> => ({
    start,
    firstToken: `run "${start}" for a local daemon`,
  });
  if (isCheckout && realpathSync(workingDirectory) === realpathSync(root))
    return {
      kedge: 'npx kedge',
      kedged: 'npx kedged',
      examples: 'docs/examples',
      ...forLocalUser('npm start'),
    };
  const installed = { kedge: 'kedge', kedged: 'kedged', examples: shippedExamples };
  if (isCheckout)
    return { ...installed, ...forLocalUser(`npm --prefix ${root.replace(/\/$/, '')} start`) };
  if (root !== aboveDebian) return { ...installed, ...forLocalUser('kedged --local') };
  return {
    ...installed,
    start: isSystemd
      ? 'sudo systemctl start kedged'
      : 'sudo kedged --config /etc/kedge/kedged.toml',
    firstToken: `run "${bootstrap}" for the first token of the daemon of this machine`,
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
  return installationAt(workingDirectory, above, existsSync('/run/systemd/system'));
}
