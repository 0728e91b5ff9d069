import { build, type Metafile } from 'esbuild';
import { expect } from 'chai';
import { root } from '../acceptance/daemon.js';

const mainOf = (program: string): string => `cmd/dist/${program}/main.js`;

/** The modules that a compiled program can load, also those whose imports a bundler would omit as unused. */
async function inputsOf(program: string): Promise<Metafile['inputs']> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [mainOf(program)],
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    packages: 'bundle',
    external: ['classic-level'],
    ignoreAnnotations: true,
    logLevel: 'silent',
  });
  return metafile.inputs;
}

/** The modules that a program loads at each start: without those that it imports on demand. */
function loadedAtStart(inputs: Metafile['inputs'], program: string): readonly string[] {
  const loaded = new Set([mainOf(program)]);
  for (const path of loaded)
    for (const { path: imported, kind, external } of inputs[path]?.imports ?? [])
      if (kind !== 'dynamic-import' && !external) loaded.add(imported);
  return [...loaded];
}

describe('the modules that a program loads', () => {
  for (const program of ['kedge', 'kedged'])
    it(`${program} converts by descriptors and loads no generated codec of the API`, async function () {
      this.timeout(180_000);
      const modules = Object.keys(await inputsOf(program));
      expect(modules, 'the graph is followed into the package').to.include(
        'proto/dist/gen/descriptors.js',
      );
      const generated = modules.filter((path) =>
        /^proto\/dist\/gen\/(api|google)\/|gen\/services\.js$/.test(path),
      );
      expect(generated).to.deep.equal([]);
      // They are optional, and large.
      expect(modules.filter((path) => /\/(@aws-sdk|@google-cloud)\//.test(path))).to.deep.equal([]);
    });

  it('kedge starts without the store and the controllers of the library, and without gRPC', async function () {
    this.timeout(180_000);
    const modules = loadedAtStart(await inputsOf('kedge'), 'kedge');
    expect(modules, 'the graph is followed into the library').to.include(
      'lib/dist/object/index.js',
    );
    const heavy =
      /^lib\/dist\/(index\.js|(controller|manager|informer|workqueue|store)\/index\.js)|^node_modules\/(level|fastify|@grpc)\//;
    expect(modules.filter((path) => heavy.test(path))).to.deep.equal([]);
  });
});
