// Bundles kedge and kedged, each into a folder with one file to start and chunks that are loaded on demand.
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { root } from '../steps.mjs';

/** The only package that is not bundled: it loads a binary from its own folder. */
const native = 'classic-level';

/** Globals that bundled CommonJS packages need. */
const banner = [
  "import { createRequire as __createRequire } from 'node:module';",
  "import { dirname as __dirnameOf } from 'node:path';",
  "import { fileURLToPath as __pathOf } from 'node:url';",
  'const require = __createRequire(import.meta.url);',
  'const __filename = __pathOf(import.meta.url);',
  'const __dirname = __dirnameOf(__filename);',
].join('\n');

/** The folder of a package as resolved from `from`, and its package.json. */
function packageOf(name, from) {
  for (let at = from; ; at = dirname(at)) {
    const folder = join(at, 'node_modules', name);
    const file = join(folder, 'package.json');
    if (existsSync(file)) return { folder, ...JSON.parse(readFileSync(file, 'utf8')) };
    if (at === dirname(at)) throw new Error(`${name} is not installed; ${from} needs it`);
  }
}

/** Copies the files that the native package loads at run time, with the binaries of one platform. */
function copyNative(target, platform) {
  const copied = new Map();
  const copy = (name, from) => {
    if (copied.has(name) || name === 'napi-macros') return;
    const found = packageOf(name, from);
    copied.set(name, found);
    const isWanted = (path) =>
      !/[/\\](node_modules|deps|test|build)$|\.(ts|cc|gyp)$|[/\\](README|CHANGELOG|UPGRADING)\.md$/.test(
        path,
      ) &&
      (!path.includes('/prebuilds/') || path.includes(`/prebuilds/${platform}`));
    cpSync(found.folder, join(target, 'node_modules', name), { recursive: true, filter: isWanted });
    for (const next of Object.keys(found.dependencies ?? {})) copy(next, found.folder);
  };
  copy(native, join(root, 'lib'));
  return copied;
}

/** Name, version and licence text of each package whose code is in the bundle. */
function licences(inputs, copied) {
  const folders = new Set([...copied.values()].map(({ folder }) => folder));
  for (const input of inputs) {
    const [, path] = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input) ?? [];
    if (path) folders.add(join(root, path));
  }
  const texts = [...folders].sort().map((folder) => {
    const { name, version, license } = JSON.parse(
      readFileSync(join(folder, 'package.json'), 'utf8'),
    );
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
    const text = file ? readFileSync(join(folder, file), 'utf8').trim() : `Licence: ${license}`;
    return `${name} ${version} (${license})\n\n${text}\n`;
  });
  return texts.join(`\n${'-'.repeat(80)}\n\n`);
}

/** The bundle contains the optional peers, so the check whether they are installed is omitted. */
const peersAreBundled = {
  name: 'peers are bundled',
  setup(setup) {
    setup.onLoad({ filter: /lib\/dist\/base\/peers\.js$/ }, () => ({
      contents: 'export function requirePeers() {}',
    }));
  },
};

/** Where users install packages of providers: the Debian package has no node_modules for them. */
export const packageFolder = '/usr/local/lib/kedge';

const packagesHaveAFolder = {
  name: 'packages of providers have a folder',
  setup(setup) {
    setup.onLoad({ filter: /drivers\/sdk\/dist\/provider\/package-folder\.js$/ }, () => ({
      contents: `export const packageFolder = ${JSON.stringify(packageFolder)};`,
    }));
  },
};

const options = {
  absWorkingDir: root,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  keepNames: false,
  external: [native],
  banner: { js: banner },
  plugins: [peersAreBundled],
  metafile: true,
  legalComments: 'none',
  logLevel: 'warning',
};

/** Bundles both programs of a checkout beside the compiled files: see cmd/bin/main-of.mjs. */
export async function bundleCheckout() {
  const folder = join(root, 'cmd/dist');
  for (const name of readdirSync(folder))
    if (name.endsWith('.bundle.js')) rmSync(join(folder, name));
  await build({
    ...options,
    entryPoints: Object.fromEntries(
      ['kedge', 'kedged'].map((program) => [`${program}.bundle`, join(folder, program, 'main.js')]),
    ),
    outdir: folder,
    chunkNames: 'chunk-[hash].bundle',
  });
}

/**
 * Writes `<target>/{kedge,kedged}/main.js` with their chunks, the supervisor's scripts, the examples, the launchers in
 * `bin`, and the native package of `platform` (such as linux-x64). Returns the licences of the bundled packages.
 */
export async function bundle(target, platform) {
  const inputs = new Set();
  for (const program of ['kedge', 'kedged']) {
    const { metafile } = await build({
      ...options,
      entryPoints: [join(root, `cmd/dist/${program}/main.js`)],
      outdir: join(target, program),
      plugins: [...options.plugins, packagesHaveAFolder],
      minifySyntax: true,
      minifyWhitespace: true,
    });
    for (const input of Object.keys(metafile.inputs)) inputs.add(input);
  }
  cpSync(join(root, 'controllers/agent/supervisor'), join(target, 'kedged/supervisor'), {
    recursive: true,
  });
  cpSync(join(root, 'cmd/examples'), join(target, 'examples'), { recursive: true });
  const copied = copyNative(target, platform);
  mkdirSync(join(target, 'bin'), { recursive: true });
  for (const program of ['kedge', 'kedged']) {
    const text = readFileSync(join(root, `cmd/bin/${program}.mjs`), 'utf8');
    writeFileSync(join(target, `bin/${program}.mjs`), text, { mode: 0o755 });
  }
  writeFileSync(
    join(target, 'bin/main-of.mjs'),
    'export const mainOf = (program) => `../${program}/main.js`;\n',
  );
  // The files of this folder are ESM, including the chunks.
  writeFileSync(join(target, 'package.json'), '{ "type": "module" }\n');
  return licences(inputs, copied);
}
