import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { root, TestDaemon } from '../acceptance/daemon.js';

const folder = join(root, 'docs/examples');
/** The tests that run the examples and check the results. */
const runBy: Readonly<Record<string, string>> = {
  'journal.yaml': 'test/acceptance/cli/cli.test.ts',
  'postgres.yaml': 'test/containers/real-software.test.ts',
  'replicas.yaml': 'test/containers/workloads-guide.test.ts',
  'secret-parameter.yaml': 'test/docs/example-files.test.ts',
  'settings.yaml': 'test/acceptance/storage/mounted-data.test.ts',
  'snapshot.yaml': 'test/acceptance/storage/storage.test.ts',
};

describe('the files in docs/examples', function () {
  this.timeout(300_000);
  let daemon: TestDaemon;

  before(async () => {
    daemon = await TestDaemon.start({
      environment: { KEDGE_STORAGE_HOST_PATH_ALLOWLIST: '/var/tmp/kedge' },
    });
  });
  after(() => daemon.dispose());

  for (const name of readdirSync(folder)) {
    it(`${name} is valid, and a test names it`, async () => {
      const cast = await daemon.cli('cast', '--dry-run', join(folder, name));
      expect(cast.code, cast.stderr).to.equal(0);
      const test = runBy[name];
      expect(test, `name the test that runs ${name}`).to.be.a('string');
      expect(readFileSync(join(root, String(test)), 'utf8')).to.contain(name);
    });
  }

  it('each file of the guide to workloads is valid, also without an engine', async () => {
    const page = readFileSync(join(root, 'docs/guides/workloads.md'), 'utf8');
    const found = [...page.matchAll(/```yaml\n([^]*?)```/g)];
    expect(found).to.not.have.lengthOf(0);
    for (const [, text = ''] of found) {
      const file = join(daemon.home, 'guide.yaml');
      writeFileSync(file, text);
      const cast = await daemon.cli('cast', '--dry-run', file);
      expect(cast.code, `${cast.stderr}\n${text}`).to.equal(0);
    }
  });

  it('secret-parameter.yaml provisions a volume whose path only its secret has', async () => {
    const cast = await daemon.cli('cast', join(folder, 'secret-parameter.yaml'));
    expect(cast.code, cast.stderr).to.equal(0);
    const volume = await daemon.ok('GET', '/v1/namespaces/default/volumes/archive');
    expect(volume.status).to.equal('Available');
    const storageClass = await daemon.ok('GET', '/v1/storageclasses/archive');
    const path = '/var/tmp/kedge/archive';
    expect(JSON.stringify([volume.parameters, storageClass.parameters])).to.not.contain(path);
  });
});
