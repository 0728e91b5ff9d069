import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../acceptance/daemon.js';

/** The folder of this process for packed files; removed when it exits. */
let folder: string | undefined;
let released: Promise<ReadonlyMap<string, string>> | undefined;
let command: string | undefined;

function below(name: string): string {
  if (folder === undefined) {
    const made = mkdtempSync(join(tmpdir(), 'kedge-packed-once-'));
    process.once('exit', () => rmSync(made, { recursive: true, force: true }));
    folder = made;
  }
  return join(folder, name);
}

/**
 * The tarballs of a release by package name, made by the release's own script: once for all tests of this process, as
 * each start of npm takes seconds. Callers must not change them.
 */
export function releaseTarballs(): Promise<ReadonlyMap<string, string>> {
  released ??= makeRelease();
  return released;
}

async function makeRelease(): Promise<ReadonlyMap<string, string>> {
  const { tarballs } = (await import(join(root, 'scripts/release/tarballs.mjs'))) as {
    tarballs: (folder: string) => ReadonlyMap<string, string>;
  };
  return tarballs(below('release'));
}

/** The tarball of `cmd` without the packages that a release puts inside it; packed once like {@link releaseTarballs}. */
export function plainCommandTarball(): string {
  command ??= packCommand();
  return command;
}

function packCommand(): string {
  const target = below('plain');
  mkdirSync(target, { recursive: true });
  const env = { ...process.env, npm_config_loglevel: 'error' };
  const pack = ['pack', '--json', '--ignore-scripts', '--pack-destination', target];
  const printed = execFileSync('npm', pack, { cwd: join(root, 'cmd'), encoding: 'utf8', env });
  const [{ filename }] = JSON.parse(printed) as [{ filename: string }];
  return join(target, filename);
}

/** The tarball of a published package of this repository. @throws Error for an unknown name */
export async function tarballOf(name: string): Promise<string> {
  if (name === '@kedge/cmd') return plainCommandTarball();
  const tarball = (await releaseTarballs()).get(name);
  if (tarball === undefined) throw new Error(`the release has no package "${name}"`);
  return tarball;
}
