import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { tarballOf } from './packed.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const bin = (name: string): string => join(root, 'node_modules/.bin', name);
/** TypeScript 6 reads the declarations too; Kedge itself is compiled by TypeScript 7. */
const typescript6 = join(root, 'node_modules/typescript/bin/tsc');
const mebibyte = 1024 * 1024;

const program = `
import { type ApiObject, defineKind, done, MemoryEngine, Manager, newController, openStore } from 'kedge';
import { FakeClock, storeConformance } from 'kedge/testing';

interface Lamp extends ApiObject { readonly on?: boolean; readonly lit?: boolean }
const lamps = defineKind<Lamp>({ kind: 'Lamp', plural: 'lamps', scope: 'Cluster', statusFields: ['lit'] });
const store = await openStore({ engine: new MemoryEngine() });
const manager = new Manager({ store });
manager.addController(
  newController({
    name: 'lamp',
    reconcile: async ({ key }) => {
      const lamp = await store.get(lamps, key);
      if (lamp && lamp.lit !== lamp.on) await store.updateStatus(lamps, key, { lit: lamp.on ?? false });
      return done();
    },
  }).for(manager.informer(lamps)),
);
await manager.start();
const signal = AbortSignal.timeout(60_000);
await store.create(lamps, { name: 'hall', on: true });
for await (const batch of store.watch(lamps, { fromRevision: 0, signal })) {
  const lit = batch.events.find((event) => event.object.lit);
  if (lit) { console.log(lit.object.name, 'is lit'); break; }
}
await manager.stop(1_000);
await store.close();
const kit: readonly unknown[] = [FakeClock, storeConformance];
console.log(kit.length);
`;

const compilerOptions = {
  target: 'ES2023',
  lib: ['ES2023', 'ESNext.Disposable'],
  types: ['node'],
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  verbatimModuleSyntax: true,
  // The published package must be valid by itself.
  skipLibCheck: false,
  outDir: 'out',
};

describe('the npm package', function () {
  this.timeout(240_000);
  let folder: string;
  let tarball: string;

  before(async function () {
    folder = await mkdtemp(join(tmpdir(), 'kedge-package-'));
    const env = { ...process.env, npm_config_loglevel: 'error' };
    tarball = await tarballOf('kedge');
    await writeFile(join(folder, 'package.json'), '{ "type": "module", "private": true }\n');
    const install = ['install', '--no-audit', '--no-fund', '--ignore-scripts', tarball];
    try {
      execFileSync('npm', install, { cwd: folder, stdio: 'pipe', env });
    } catch (error) {
      if (process.env['CI']) throw error;
      console.log('skipped: the package registry could not be reached');
      this.skip();
    }
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('installs under 15 MB and 25 packages, with no SDK and no server', async () => {
    const names = (await readdir(join(folder, 'node_modules'))).filter((n) => !n.startsWith('.'));
    expect(names.length).to.be.lessThan(25);
    expect(names).to.not.include.members(['fastify', '@grpc', 'ajv', '@aws-sdk', 'pino']);
    let bytes = 0;
    const modules = join(folder, 'node_modules');
    for (const entry of await readdir(modules, { recursive: true, withFileTypes: true }))
      if (entry.isFile()) bytes += (await stat(join(entry.parentPath, entry.name))).size;
    expect(bytes / mebibyte).to.be.lessThan(15);
  });

  for (const [module, moduleResolution] of [
    ['NodeNext', 'NodeNext'],
    ['ESNext', 'bundler'],
  ] as const) {
    it(`compiles in a strict project with ${moduleResolution} resolution, and runs`, async () => {
      await writeFile(join(folder, 'main.ts'), program);
      const options = { ...compilerOptions, module, moduleResolution };
      const typeRoots = [join(root, 'node_modules/@types')];
      const config = { compilerOptions: { ...options, typeRoots }, files: ['main.ts'] };
      await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config));
      const compiled = spawnSync(process.execPath, [typescript6, '-p', folder], {
        encoding: 'utf8',
      });
      expect(compiled.stdout).to.equal('');
      const output = execFileSync(process.execPath, [join(folder, 'out/main.js')], {
        encoding: 'utf8',
      });
      expect(output).to.equal('hall is lit\n2\n');
    });
  }

  it('names the packages to install if an entry point lacks them', () => {
    for (const [entry, missing] of [
      ['server', 'npm install @bufbuild/protobuf@^2.17.0 ajv@^8.20.0 fastify@'],
      ['client', 'npm install @bufbuild/protobuf@^2.17.0 @grpc/grpc-js@^1.14.7'],
      ['rpc', 'npm install @bufbuild/protobuf@^2.17.0'],
      ['opentelemetry', 'npm install @opentelemetry/api@^1.9.0'],
      ['pino', 'npm install pino@^10.4.0'],
    ] as const) {
      const load = `await import('kedge/${entry}')`;
      const args = ['--input-type=module', '-e', load];
      const { stderr, status } = spawnSync(process.execPath, args, {
        cwd: folder,
        encoding: 'utf8',
      });
      expect(status).to.equal(1);
      expect(stderr).to.contain(`kedge/${entry} needs`);
      expect(stderr).to.contain(missing);
    }
  });

  it('declares its peers, and exports the names of its types', async () => {
    const { peerRanges } = (await import(join(root, 'lib/dist/base/peers.js'))) as {
      peerRanges: object;
    };
    const text = await readFile(join(root, 'lib/package.json'), 'utf8');
    const { peerDependencies, peerDependenciesMeta } = JSON.parse(text) as Record<string, object>;
    expect(peerDependencies).to.deep.equal(peerRanges);
    expect(Object.keys(peerDependenciesMeta ?? {})).to.deep.equal(Object.keys(peerRanges));
    for (const [entry, module] of [
      ['server', 'server/index'],
      ['client', 'client/index'],
      ['rpc', 'rpc/index'],
      ['opentelemetry', 'adapters/opentelemetry'],
      ['pino', 'adapters/pino'],
    ] as const) {
      const [guarded, plain] = (await Promise.all([
        import(join(root, `lib/dist/entry/${entry}.js`)),
        import(join(root, `lib/dist/${module}.js`)),
      ])) as [object, object];
      expect(Object.keys(guarded).sort(), entry).to.deep.equal(Object.keys(plain).sort());
    }
  });

  it('contains no tests, and nothing marked internal in its types', async () => {
    const files = await readdir(join(folder, 'node_modules/kedge'), { recursive: true });
    expect(files.filter((file) => file.includes('.test.'))).to.deep.equal([]);
    for (const file of files.filter((name) => name.endsWith('.d.ts'))) {
      const text = await readFile(join(folder, 'node_modules/kedge', file), 'utf8');
      expect(text, file).to.not.contain('@internal');
    }
    expect(files).to.include.members(['README.md', 'UPGRADING.md', 'LICENSE']);
  });

  it('passes publint and are-the-types-wrong', () => {
    const lint = spawnSync(bin('publint'), ['run', tarball, '--strict'], { encoding: 'utf8' });
    expect(lint.status, lint.stdout + lint.stderr).to.equal(0);
    expect(lint.stdout).to.match(/All good|no issues|Suggestions:\n?$/i);
    const types = spawnSync(bin('attw'), [tarball, '--profile', 'esm-only', '--format', 'ascii'], {
      encoding: 'utf8',
      env: { ...process.env, FORCE_COLOR: '0' },
    });
    expect(types.status, types.stdout + types.stderr).to.equal(0);
  });
});
