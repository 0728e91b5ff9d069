import { mkdtemp, rm } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Command, Option } from 'commander';
import { withExamples } from '../../program/examples.js';
import pc from 'picocolors';
import { invalid, messageOf, parseQuantity } from 'kedge/objects';
import type { Driver, DriverFactory, StorageSettings } from '@kedge/driver-sdk';
import { table, print } from '../../output/output.js';
import { exitCodes } from '../../program/exit-codes.js';
import { addDriverCheck } from './driver-check.js';

interface TestOptions {
  readonly parameters: Readonly<Record<string, string>>;
  readonly size: string;
  readonly node: string;
  readonly mounts: boolean;
  readonly root?: string;
  readonly hostPathAllowlist: readonly string[];
}

function pair(text: string, before: Readonly<Record<string, string>>): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1)
    throw invalid([
      { field: '--parameters', description: `${JSON.stringify(text)} must be KEY=VALUE` },
    ]);
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

/** Loads the module at a path. @throws StatusError InvalidArgument with the path, the cause and the remedy */
async function loadModule(path: string): Promise<{ readonly createDriver?: unknown }> {
  try {
    return (await import(pathToFileURL(resolve(path)).href)) as { readonly createDriver?: unknown };
  } catch (error) {
    throw invalid([
      {
        field: 'NAME',
        description: `${path} can't be loaded (${messageOf(error)}); use the path of a compiled module (.js) whose packages are installed beside it`,
      },
    ]);
  }
}

/**
 * Returns a factory that creates a new driver instance at each call. Instances share the state of their module, such as
 * the order of the calls for one volume.
 * @throws StatusError InvalidArgument for an unknown driver, or a module without one
 */
async function parentOf(
  name: string,
  settings: StorageSettings,
): Promise<() => Driver | Promise<Driver>> {
  if (isAbsolute(name) || name.startsWith('.')) {
    const module = await loadModule(name);
    if (typeof module.createDriver !== 'function')
      throw invalid([
        { field: 'NAME', description: `${name} does not export a function createDriver` },
      ]);
    const create = module.createDriver as DriverFactory;
    return () => create(settings);
  }
  const { builtinDrivers } = await import('@kedge/drivers');
  const { names } = builtinDrivers(settings);
  if (!names.includes(name))
    throw invalid([
      {
        field: 'NAME',
        description: `${JSON.stringify(name)} is not a driver; use one of ${names.join(', ')}, or the path of a module`,
      },
    ]);
  return async () => {
    const driver = await builtinDrivers(settings).get(name);
    if (!driver) throw new TypeError(`driver ${name} does not exist any more`);
    return driver;
  };
}

async function test(name: string, options: TestOptions): Promise<void> {
  const sizeBytes = parseQuantity(options.size);
  if (sizeBytes === undefined || sizeBytes <= 0n)
    throw invalid([
      {
        field: '--size',
        description: `${JSON.stringify(options.size)} is not a quantity above 0; give a size such as 16Mi`,
      },
    ]);
  const own = await mkdtemp(join(tmpdir(), 'kedge-driver-test-'));
  try {
    const settings: StorageSettings = {
      localVolumeRoot: options.root ?? join(own, 'volumes'),
      hostPathAllowlist: options.hostPathAllowlist,
      allowCreateMissing: true,
    };
    const { runConformance } = await import('@kedge/driver-sdk/conformance');
    const { parameters, node, mounts } = options;
    const driver = await parentOf(name, settings);
    const suite = { driver, parameters, sizeBytes, node, mounts };
    const counts = { passed: 0, leftOut: 0, failed: 0 };
    await runConformance(suite, ({ name: check, behaviour, outcome }) => {
      counts[outcome.type] += 1;
      switch (outcome.type) {
        case 'passed':
          return print(`${pc.green('ok')}        ${check}: ${behaviour}`);
        case 'leftOut':
          return print(`${pc.yellow('left out')}  ${check}: ${outcome.reason}`);
        case 'failed':
          print(`${pc.red('FAILED')}    ${check}: ${behaviour}`);
          return print(`          ${messageOf(outcome.error)}`);
      }
    });
    print(`${counts.passed} passed, ${counts.leftOut} left out, ${counts.failed} failed`);
    if (counts.failed > 0) process.exitCode = exitCodes.error;
  } finally {
    await rm(own, { recursive: true, force: true });
  }
}

async function list(): Promise<void> {
  const { builtinDrivers } = await import('@kedge/drivers');
  const settings = { localVolumeRoot: '', hostPathAllowlist: [], allowCreateMissing: false };
  const drivers = builtinDrivers(settings);
  const yes = (value: boolean): string => (value ? 'yes' : 'no');
  const rows = await Promise.all(
    drivers.names.map(async (name) => {
      const driver = await drivers.get(name);
      if (!driver) return [name];
      const c = driver.capabilities();
      const provider = driver.provider ?? 'this machine';
      const growth = c.onlineExpand ? 'online' : c.expand ? 'offline' : 'no';
      return [
        name,
        provider,
        c.accessModes.join(','),
        yes(c.snapshots),
        growth,
        yes(c.blockDevice),
      ];
    }),
  );
  print(table([['NAME', 'PROVIDER', 'MODES', 'SNAPSHOTS', 'EXPAND', 'BLOCK'], ...rows]));
}

/** `kedge driver list|test|check` */
export function addDriver(program: Command): void {
  const driver = program.command('driver').description('list, check and test storage drivers');
  addDriverCheck(driver);
  withExamples(
    driver
      .command('list')
      .description('list the drivers of this release, their providers and their capabilities')
      .action(list),
    ['kedge driver list', 'The capabilities of all drivers'],
  );
  withExamples(
    driver
      .command('test')
      .argument(
        '<name>',
        'a driver of this release, or the path of a module that exports createDriver',
      )
      .description(
        'run the conformance suite, which creates and deletes volumes with these parameters',
      )
      .option('-p, --parameters <key=value>', 'a parameter; may be repeated', pair, {})
      .option('--size <quantity>', 'size of its volumes', '16Mi')
      .addOption(
        new Option('--node <name>', 'name of this node at the provider').default(
          hostname().toLowerCase(),
          'the host name of this machine',
        ),
      )
      .option(
        '--no-mounts',
        'skip the checks that mount volumes on this machine (block devices need root)',
      )
      .option('--root <directory>', '[storage].localVolumeRoot; default: a temporary directory')
      .option(
        '--host-path-allowlist <paths>',
        '[storage].hostPathAllowlist, comma-separated',
        (text: string) => text.split(','),
        [],
      )
      .action(test),
    ['kedge driver test local --size 16Mi', 'Run the conformance suite on this machine'],
    [
      'kedge driver test ./my-driver.js -p url=http://127.0.0.1:9000 --no-mounts',
      'Test your own driver',
    ],
  );
}
