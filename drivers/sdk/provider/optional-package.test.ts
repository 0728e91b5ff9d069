import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { DriverError } from '../errors/errors.js';
import { folderPlace, loadOptional, placeOf } from './optional-package.js';

const wanted = { name: '@some-cloud/volumes', version: '3.1.0', driver: 'some-block' };

describe('an optional package', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-optional-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const install = async (text: string): Promise<void> => {
    const at = join(folder, 'node_modules/@some-cloud/volumes');
    await mkdir(at, { recursive: true });
    await writeFile(join(at, 'package.json'), '{ "main": "main.js" }');
    await writeFile(join(at, 'main.js'), text);
  };
  const errorOf = (): DriverError => {
    try {
      loadOptional(wanted, folderPlace(folder));
    } catch (thrown) {
      return thrown as DriverError;
    }
    throw new Error('it was loaded');
  };

  it('that is absent is named with the command that installs it, and is found once it is installed', async () => {
    const error = errorOf();
    expect(error).to.be.instanceOf(DriverError);
    // A final kind would need a further step after the installation.
    expect(error.kind).to.equal('Unavailable');
    expect(error.message).to.equal(
      `driver some-block needs the package @some-cloud/volumes, which is not installed; run: npm install --prefix ${folder} @some-cloud/volumes@3.1.0`,
    );
    await install('exports.answer = 42;');
    expect(loadOptional(wanted, folderPlace(folder))).to.deep.equal({ answer: 42 });
  });

  it('is found once it is installed beside others, and once its own dependencies are installed', async () => {
    // A folder of packages is searched: Node.js would remember that this one is absent.
    await mkdir(join(folder, 'node_modules/other'), { recursive: true });
    expect(errorOf().kind).to.equal('Unavailable');
    const install = async (name: string, manifest: object, text: string): Promise<void> => {
      const at = join(folder, 'node_modules', name);
      await mkdir(at, { recursive: true });
      await writeFile(join(at, 'package.json'), JSON.stringify(manifest));
      await writeFile(join(at, 'main.js'), text);
    };
    const dependencies = { 'its-own': '^1.0.0' };
    await install(
      wanted.name,
      { main: 'main.js', dependencies },
      "exports.own = require('its-own');",
    );
    expect(errorOf().message).to.contain('which is not installed');
    await install('its-own', { main: 'main.js' }, 'module.exports = 42;');
    expect(loadOptional(wanted, folderPlace(folder))).to.deep.equal({ own: 42 });
  });

  it('is installed by a command whose paths are quoted for a shell', () => {
    expect(folderPlace('/srv/my packages').command).to.equal(
      "npm install --prefix '/srv/my packages'",
    );
    expect(folderPlace("/srv/it's").command).to.equal("npm install --prefix '/srv/it'\\''s'");
  });

  it('that is broken is not reported as absent', async () => {
    await install("require('its-own-dependency');");
    const { kind, message } = errorOf();
    expect(kind).to.equal('Internal');
    expect(message).to.contain("can't be loaded: Cannot find module 'its-own-dependency'");
  });

  it('is installed where the program is: project, global installation, checkout', async () => {
    const file = join(folder, 'node_modules/@kedge/cmd/node_modules/@kedge/drivers/dist/x.js');
    expect(placeOf(file).command).to.equal('npm install --global');
    await writeFile(join(folder, 'package.json'), '{}');
    expect(placeOf(file).command).to.equal(`npm install --prefix ${folder}`);
    await mkdir(join(folder, 'node_modules'));
    expect(placeOf(join(folder, 'cmd/dist/kedged.bundle.js')).command).to.equal(
      `npm install --no-save --prefix ${folder}`,
    );
  });
});
