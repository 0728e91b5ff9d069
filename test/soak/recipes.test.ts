import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { TestDaemon } from '../acceptance/daemon.js';
import { carryOut, readRecipe } from './recipes.js';
import { SourceCopy } from './source-copy.js';

const base = '/v1/namespaces/default';
/** Tests of all kinds by their common list. */
const judges = ['test/dist/architecture/kinds.test.js', 'test/dist/never-stuck/references.test.js'];

describe('the recipes for a field and for a kind', function () {
  this.timeout(900_000);
  let copy: SourceCopy;
  let daemon: TestDaemon;
  before(async () => {
    copy = await SourceCopy.make();
    for (const heading of ['Add a field', 'Add a kind'])
      for (const step of readRecipe(heading)) await carryOut(step, copy.folder);
    const problem = copy.problemOfBuilding();
    if (problem !== undefined) throw new Error(problem);
    daemon = await TestDaemon.start({ program: join(copy.folder, 'cmd/bin/kedged.mjs') });
  });
  after(async () => {
    await daemon?.dispose();
    await copy?.dispose();
  });

  const run = (command: string, ...args: readonly string[]): string => {
    const { status, stdout, stderr } = spawnSync(command, args, {
      cwd: copy.folder,
      encoding: 'utf8',
      env: { ...process.env, KEDGE_SERVER: daemon.grpcAddress, KEDGE_TOKEN: daemon.token },
    });
    expect(status, `${stdout}\n${stderr}`).to.equal(0);
    return stdout;
  };

  it('give a field that is validated, stored and answered', async () => {
    const volume = { size: '1Mi', accessMode: 'ReadWriteOnce', storageClassName: 'local' };
    const long = { ...volume, name: 'long', purpose: 'x'.repeat(201) };
    expect((await daemon.rest('POST', `${base}/volumes`, long)).status).to.equal(400);
    await daemon.ok('POST', `${base}/volumes`, { ...volume, name: 'kept', purpose: 'letters' });
    expect((await daemon.ok('GET', `${base}/volumes/kept`)).purpose).to.equal('letters');
    const document = JSON.stringify(await daemon.ok('GET', '/v1/openapi.json'));
    expect(document).to.contain('The purpose of the volume, in words.');
  });

  it('give a kind with its rules, and in a policy for people', async () => {
    const refused = await daemon.rest('POST', `${base}/buckets`, { name: 'b', driver: 'none' });
    expect([refused.status, JSON.stringify(refused.body)].join()).to.match(/^400.*use one of/);
    await daemon.ok('POST', `${base}/buckets`, { name: 'b', driver: 'local' });
    const policy = await daemon.ok('GET', '/v1/admin/policies/readwrite');
    expect(JSON.stringify(policy.rules)).to.contain('"buckets"');
  });

  it('give a kind over gRPC, with columns on the command line', () => {
    const table = run('cmd/bin/kedge.mjs', 'get', 'buckets');
    expect(table).to.match(/NAME\s+DRIVER[^\n]*\nb\s+local/);
    // No comment of the copied .proto is left.
    expect(run('cmd/bin/kedge.mjs', 'explain', 'bucket')).to.match(
      /^Bucket\n\nA bucket of a driver\./,
    );
    for (const text of ['Settings', 'texts for workloads'])
      expect(readFileSync(join(copy.folder, 'proto/api/bucket.proto'), 'utf8')).to.not.contain(
        text,
      );
  });

  it('pass the tests of every kind, and the checks of generated code and of the compatibility of the API', () => {
    run('node', 'scripts/generate.mjs', '--check');
    run('node_modules/.bin/buf', 'lint');
    run('node_modules/.bin/buf', 'breaking', 'proto', '--against', 'proto/baseline.binpb');
    run('node_modules/.bin/mocha', ...judges);
  });
});
