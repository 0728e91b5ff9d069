// Runs commands, prints the duration of each, and ends the process if one fails.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { foreignCheckout } from './ownership.mjs';
import { unreachableRegistry } from './checks/registry.mjs';

export const root = fileURLToPath(new URL('..', import.meta.url));
const bin = join(root, 'node_modules/.bin');
const [major, minor] = process.versions.node.split('.').map(Number);

export function requireNode() {
  if (major > 20 || (major === 20 && minor >= 19)) return;
  console.error(
    `Kedge needs Node.js 20.19 or newer, this is ${process.version}; get it at https://nodejs.org or with your package manager`,
  );
  process.exit(1);
}

/** `explain` returns the reason of a failure, if it is known. */
export function run(name, command, args = [], env = {}, explain = () => undefined) {
  const started = performance.now();
  const path = existsSync(join(bin, command)) ? join(bin, command) : command;
  const result = spawnSync(path, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  if (result.status !== 0) {
    console.error(`FAILED ${name} (${seconds} s)`);
    const why = explain();
    if (why) console.error(`\n${why}`);
    process.exit(result.status ?? 1);
  }
  console.error(`ok ${name} (${seconds} s)`);
}

/**
 * Runs lanes of steps `[name, command, args]` at the same time, and the steps of a lane one after the other. The output
 * of a step is printed when it ends. All lanes end before a failure ends the process.
 */
export async function runTogether(lanes) {
  const results = await Promise.all(lanes.map(runLane));
  if (results.includes(false)) process.exit(1);
}

async function runLane(steps) {
  for (const [name, command, args] of steps) {
    const started = performance.now();
    const { status, output } = await collect(command, args);
    process.stdout.write(output);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    console.error(`${status === 0 ? 'ok' : 'FAILED'} ${name} (${seconds} s)`);
    if (status !== 0) return false;
  }
  return true;
}

function collect(command, args) {
  const path = existsSync(join(bin, command)) ? join(bin, command) : command;
  const child = spawn(path, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  const chunks = [];
  child.stdout.on('data', (chunk) => chunks.push(chunk));
  child.stderr.on('data', (chunk) => chunks.push(chunk));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve({ status, output: Buffer.concat(chunks) }));
  });
}

// Not npm ci: it refuses a lock file that was written without access to packages of other platforms.
export function install() {
  const lock = join(root, 'package-lock.json');
  const marker = join(root, 'node_modules/.package-lock.json');
  if (existsSync(marker) && statSync(marker).mtimeMs >= statSync(lock).mtimeMs) return;
  // Checked before npm, whose own error about a missing permission has forty lines.
  const foreign = foreignCheckout(root);
  if (foreign) {
    console.error(foreign);
    process.exit(1);
  }
  const kept = providerPackages().filter(([name]) => installedVersion(name) !== undefined);
  installPackages('install');
  const removed = kept.filter(([name]) => installedVersion(name) === undefined);
  if (removed.length > 0) installAgain(removed);
}

/**
 * Runs npm's installation. If its registry does not answer a ping, tries the cache, which ends within seconds, and then
 * the registry without repetitions, because some registries answer no ping. Exits with a message if all of this fails.
 */
function installPackages(name, packages = []) {
  const args = [...installArguments, ...packages];
  const unreachable = unreachableRegistry(root);
  if (!unreachable) return run(name, 'npm', args);
  // The last attempt prints its own cause, which need not be the registry.
  for (const [stdio, ...more] of [
    ['ignore', '--offline'],
    ['inherit', '--fetch-retries=0', '--fetch-timeout=10000'],
  ])
    if (spawnSync('npm', [...args, ...more], { cwd: root, stdio }).status === 0) return;
  console.error(unreachable);
  process.exit(1);
}

/** Installs packages that a user had installed for a storage class. The daemon starts without them too. */
function installAgain(packages) {
  const named = packages.map(([name, version]) => `${name}@${version}`);
  const args = [...installArguments, ...named];
  const { status } = spawnSync('npm', args, { cwd: root, stdio: 'inherit' });
  if (status === 0) console.error(`ok install ${named.join(', ')}`);
  else
    console.error(
      `the installation removed ${named.join(', ')}, which storage classes may need; to install it again: npm install --no-save --prefix ${root} ${named.join(' ')}`,
    );
}

const installArguments = [
  'install',
  '--no-save',
  '--no-audit',
  '--no-fund',
  '--ignore-scripts',
  '--loglevel=error',
];

/** The tested versions of the providers' SDKs, recorded as the optional peers of @kedge/drivers: 170 MB. */
function providerPackages() {
  const { peerDependencies } = JSON.parse(readFileSync(join(root, 'drivers/package.json'), 'utf8'));
  return Object.entries(peerDependencies).map(([name, range]) => [name, range.replace('^', '')]);
}

function installedVersion(name) {
  const file = join(root, 'node_modules', name, 'package.json');
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).version : undefined;
}

/**
 * Installs the providers' SDKs, which only tests need. They are in no lock file, because `npm start` would install them
 * from there; an installation from the lock file removes them.
 */
export function installProviderPackages() {
  const packages = providerPackages();
  if (packages.every(([name, version]) => installedVersion(name) === version)) return;
  const named = packages.map(([name, version]) => `${name}@${version}`);
  installPackages('install provider packages', named);
}

/**
 * The compiler of builds: TypeScript 7, which is native and takes an eighth of the time. The linter and the reference
 * need the programming interface of TypeScript 6, so both are installed, and only this path is unambiguous.
 */
export const compiler = 'node_modules/typescript-7/bin/tsc';

export function compile(explain) {
  run('build', process.execPath, [compiler, '-b'], {}, explain);
}

export function build() {
  // An existing build needs no write permission.
  compile(() => foreignCheckout(root));
  run('bundle', process.execPath, ['scripts/release/bundle-checkout.mjs'], {}, () =>
    foreignCheckout(root),
  );
}
