import { randomBytes } from 'node:crypto';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../daemon.js';

const base = '/v1/namespaces/default';

describe('directories of the daemon as volumes of driver local-host', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  let home: string;

  before(async () => {
    const environment: Record<string, string> = {};
    daemon = await TestDaemon.start({
      environment,
      prepare: async (data) => {
        home = join(data, '..');
        environment['KEDGE_STORAGE_HOST_PATH_ALLOWLIST'] = home;
        environment['KEDGE_RUNTIME_DOCKER_SOCKET'] = join(home, 'engine/run/docker.sock');
        environment['KEDGE_SECRETS_KEK_FILE'] = join(home, 'keys/kek');
        for (const folder of ['engine/run', 'keys', 'host/own'])
          await mkdir(join(home, folder), { recursive: true });
        await writeFile(join(home, 'keys/kek'), randomBytes(32).toString('base64'), {
          mode: 0o600,
        });
      },
    });
  });
  after(() => daemon?.dispose());

  const create = (name: string, hostPath: string) =>
    daemon.rest('POST', `${base}/volumes`, {
      ...{ name, storageClassName: 'local-host', size: '1Gi', accessMode: 'ReadWriteOnce' },
      parameters: { hostPath },
    });

  const refused: readonly (readonly [path: string, words: string])[] = [
    ['.', 'contains '],
    ['data', 'is the data directory of kedged'],
    ['data/volumes', 'lies in '],
    ['engine/run', 'the socket of the container engine'],
    ['engine', 'the socket of the container engine'],
    ['keys', 'a directory or file with keys of kedged'],
    ['config/kedge', 'a directory or file with keys of kedged'],
  ];
  for (const [path, words] of refused)
    it(`${path} is refused, with field, value and remedy`, async () => {
      const hostPath = join(home, path);
      const { status, body } = await create('bad', hostPath);
      expect(status, JSON.stringify(body)).to.equal(400);
      const [{ fieldViolations = [] } = {}] = body.details as {
        fieldViolations?: { field: string; description: string }[];
      }[];
      expect(fieldViolations.map(({ field }) => field)).to.deep.equal(['parameters.hostPath']);
      const [{ description = '' } = {}] = fieldViolations;
      expect(description).to.contain(words).and.contain(JSON.stringify(hostPath));
      expect(description).to.contain('choose a directory that is used by workloads alone');
    });

  it('a link to them is refused when the volume is provisioned', async () => {
    await symlink(join(home, 'data'), join(home, 'host/link'));
    expect((await create('link', join(home, 'host/link'))).status).to.equal(200);
    const refusal = await eventually('the refusal', async () => {
      const { body } = await daemon.rest('GET', `${base}/volumes/link`);
      const { message = '' } = (body.lastOperation ?? {}) as { message?: string };
      return message.includes('no workload may reach') ? message : undefined;
    });
    expect(refusal).to.contain(`hostPath ${home}/host/link resolves to "${home}/data" is the data`);
  });

  it('other directories are used', async () => {
    expect((await create('good', join(home, 'host/own'))).status).to.equal(200);
    await eventually('the volume', async () => {
      const { body } = await daemon.rest('GET', `${base}/volumes/good`);
      return body.status === 'Available';
    });
  });
});
