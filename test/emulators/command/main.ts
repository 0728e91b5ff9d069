import { readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { detachLoop, loopedFiles, loopOf } from '../../drivers/loop-table.js';
import { whatDevicesNeed } from './needs.js';
import { type CommandOptions, commandOptions, usage } from './options.js';
import { kedgedSettings, providers, startProvider } from './providers.js';

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}

function given(): CommandOptions {
  try {
    const options = commandOptions(process.argv.slice(2));
    if (options) return options;
  } catch (error) {
    fail(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
  }
  console.log(usage);
  process.exit(0);
}

async function remove({ directory }: CommandOptions): Promise<void> {
  const folder = await realpath(directory).catch(() => directory);
  const files = await loopedFiles(folder);
  const devices = await Promise.all(files.map(loopOf));
  const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n');
  const mounted = devices.filter((device) => mounts.some((line) => line.startsWith(`${device} `)));
  if (mounted.length > 0)
    fail(`${mounted.join(', ')} is mounted, so nothing was removed; stop kedged and repeat this`);
  for (const file of files) await detachLoop(file);
  await rm(directory, { recursive: true, force: true });
  console.log(`removed ${directory}`);
}

async function serve(options: CommandOptions): Promise<void> {
  const all = await Promise.all(providers.map((provider) => startProvider(provider, options)));
  const settings = join(options.directory, 'drivers.toml');
  await writeFile(settings, kedgedSettings(all));
  for (const { name, says } of all) console.log(`${name}: ${says}`);
  console.log(`settings of kedged: ${settings}`);
  console.log('ready');
  const end = (): void => {
    Promise.all(all.map((one) => one.close())).then(
      () => process.exit(0),
      (error: unknown) => fail(String(error)),
    );
  };
  process.once('SIGINT', end);
  process.once('SIGTERM', end);
}

const options = given();
const need = options.withoutDevices ? undefined : whatDevicesNeed();
if (need !== undefined) fail(need);
await (options.remove ? remove(options) : serve(options));
