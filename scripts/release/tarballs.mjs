// Packs the packages for npm: those that @kedge/cmd depends on, and @kedge/cmd with these inside it, so that it installs
// without a registry that has them.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../steps.mjs';

const own = ['lib', 'proto', 'drivers/sdk', 'drivers', 'controllers'];

function pack(source, target) {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', target];
  const env = { ...process.env, npm_config_loglevel: 'error' };
  const printed = execFileSync('npm', args, { cwd: source, encoding: 'utf8', env });
  const [{ filename, name }] = JSON.parse(printed);
  return { file: join(target, filename), name };
}

/** Packs all packages into `folder`; returns the paths of the files by package name. */
export function tarballs(folder) {
  mkdirSync(folder, { recursive: true });
  const packed = own.map((workspace) => pack(join(root, workspace), folder));
  const stage = mkdtempSync(join(tmpdir(), 'kedge-pack-'));
  try {
    for (const part of ['dist', 'bin', 'examples', 'LICENSE'])
      cpSync(join(root, 'cmd', part), join(stage, part), { recursive: true });
    for (const { file, name } of packed) {
      const inside = join(stage, 'node_modules', name);
      mkdirSync(inside, { recursive: true });
      execFileSync('tar', ['-xzf', file, '-C', inside, '--strip-components=1']);
    }
    const description = JSON.parse(readFileSync(join(root, 'cmd/package.json'), 'utf8'));
    // npm bundles the dependencies of a bundled package too: the outer package depends on them instead.
    const dependencies = {};
    for (const { name } of packed) {
      const path = join(stage, 'node_modules', name, 'package.json');
      const {
        dependencies: needed,
        peerDependencies: _,
        ...rest
      } = JSON.parse(readFileSync(path, 'utf8'));
      Object.assign(dependencies, needed);
      writeFileSync(path, JSON.stringify(rest));
    }
    writeFileSync(
      join(stage, 'package.json'),
      JSON.stringify({
        ...description,
        dependencies: { ...dependencies, ...description.dependencies },
        bundleDependencies: packed.map(({ name }) => name),
      }),
    );
    return new Map([...packed, pack(stage, folder)].map(({ file, name }) => [name, file]));
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}
