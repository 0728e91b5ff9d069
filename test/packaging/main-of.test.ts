import { copyFile, mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { expect } from 'chai';

const source = fileURLToPath(new URL('../../../cmd/bin/main-of.mjs', import.meta.url));

describe('the module that starts a program', () => {
  let folder: string;
  let mainOf: (program: string) => string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-main-'));
    await mkdir(join(folder, 'cmd/bin'), { recursive: true });
    const copy = join(folder, 'cmd/bin/main-of.mjs');
    await copyFile(source, copy);
    ({ mainOf } = (await import(pathToFileURL(copy).href)) as {
      mainOf: (program: string) => string;
    });
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function written(path: string, second: number): Promise<void> {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), '');
    await utimes(join(folder, path), second, second);
  }

  it('is the bundle if it is newer than every compiled package', async () => {
    await written('lib/dist/.tsbuildinfo', 10);
    await written('cmd/dist/kedge.bundle.js', 20);
    expect(mainOf('kedge')).to.equal('../dist/kedge.bundle.js');
  });

  for (const name of ['cmd', 'lib', 'proto', 'drivers', 'drivers/sdk', 'controllers'])
    it(`is the compiled module if ${name} is newer than the bundle`, async () => {
      await written('cmd/dist/kedge.bundle.js', 20);
      await written(`${name}/dist/.tsbuildinfo`, 30);
      expect(mainOf('kedge')).to.equal('../dist/kedge/main.js');
    });

  it('is the compiled module without a bundle, as in the published package', () => {
    expect(mainOf('kedged')).to.equal('../dist/kedged/main.js');
  });
});
