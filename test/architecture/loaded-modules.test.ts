import { build } from 'esbuild';
import { expect } from 'chai';
import { root } from '../acceptance/daemon.js';

/** The modules that a compiled program can load, also those whose imports a bundler would omit as unused. */
async function loadedBy(program: string): Promise<readonly string[]> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [`cmd/dist/${program}/main.js`],
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
  return Object.keys(metafile.inputs);
}

describe('the modules that a program loads', () => {
  for (const program of ['kedge', 'kedged'])
    it(`${program} converts by descriptors and loads no generated codec of the API`, async function () {
      this.timeout(60_000);
      const modules = await loadedBy(program);
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
});
