import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { TestDaemon } from '../daemon.js';

describe('the default class in what kedge get prints', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  before(async () => {
    daemon = await TestDaemon.start({
      environment: { KEDGE_STORAGE_DEFAULT_STORAGE_CLASS: 'local-host' },
    });
    await daemon.ok('POST', '/v1/storageclasses', { name: 'own', driver: 'local' });
  });
  after(() => daemon.dispose());

  const defaults = async (...args: string[]): Promise<Readonly<Record<string, string>>> => {
    const { code, stdout, stderr } = await daemon.cli('get', 'sc', ...args);
    expect(code, stderr).to.equal(0);
    const rows = stdout.trim().split('\n').slice(1);
    return Object.fromEntries(
      rows
        .map((row) => row.split(/ {2,}/))
        .map(([name = '', , isDefault = '']) => [name, isDefault]),
    );
  };

  it('is "configured" for the class of the configuration, and "true" for one with that field', async () => {
    expect(await defaults()).to.deep.equal({
      local: 'false',
      'local-host': 'configured',
      own: 'false',
    });
    expect(await defaults('local-host')).to.deep.equal({ 'local-host': 'configured' });
    const set = await daemon.cli('storageclass', 'set-default', 'own');
    expect(set.code, set.stderr).to.equal(0);
    expect(await defaults('own')).to.deep.equal({ own: 'true' });
    await daemon.cli('storageclass', 'set-default', 'local-host');
    expect(await defaults()).to.deep.equal({ local: 'false', 'local-host': 'true', own: 'false' });
  });

  it('is not a change when it is cast again under another configuration', async () => {
    const got = await daemon.cli('get', 'sc', '-o', 'yaml');
    expect(got.stdout).to.contain('configuredDefault: true');
    const file = join(daemon.home, 'classes.yaml');
    const another = got.stdout.replaceAll('configuredDefault: false', 'configuredDefault: true');
    await writeFile(file, another);
    const cast = await daemon.cli('cast', file);
    expect(cast.code, cast.stderr).to.equal(0);
    expect(cast.stdout.match(/= StorageClass /g)).to.have.length(3);
    expect(cast.stdout).to.not.match(/updated|created/);
  });
});
