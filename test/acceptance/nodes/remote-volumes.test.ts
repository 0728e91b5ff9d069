import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { AgentProcess, freePort } from './agent-process.js';
import { root, TestDaemon } from '../daemon.js';

const base = '/v1/namespaces/default';
const node = 'far-node';
type Shown = Readonly<Record<string, unknown>>;

describe('volumes on the disk of a separate agent process', function () {
  this.timeout(240_000);
  let daemon: TestDaemon;
  let agent: AgentProcess;

  before(async () => {
    const address = `127.0.0.1:${await freePort()}`;
    daemon = await TestDaemon.start({
      program: join(root, 'test/dist/acceptance/nodes/kedged-that-logs-calls.js'),
      arguments: ['--grpc-address', address],
    });
    const account = { kind: 'serviceAccount', policies: ['node'], node };
    await daemon.ok('POST', '/v1/admin/users', { name: 'far', ...account });
    const { token } = await daemon.ok('POST', '/v1/auth/tokens', { subject: 'far' });
    const directory = join(daemon.home, 'far');
    const settings = { server: address, token: String(token), node, directory };
    agent = new AgentProcess({ ...settings, hostPathAllowlist: [], heartbeatMs: 500 });
    await agent.run();
    for (const [name, where] of Object.entries({ far: node, near: 'here' }))
      await daemon.ok('POST', '/v1/storageclasses', {
        name,
        driver: 'local',
        reclaimPolicy: 'delete',
        allowedTopologies: [{ matchLabels: { 'svc.io/node': where } }],
      });
  });
  after(async () => {
    await agent.end('SIGTERM');
    await daemon.dispose();
  });

  async function until(
    path: string,
    what: string,
    holds: (shown: Shown) => boolean,
  ): Promise<Shown> {
    return eventually(
      `${path}: ${what}`,
      async () => {
        const { status, body } = await daemon.rest('GET', `${base}/${path}`);
        return status === 200 && holds(body) ? body : undefined;
      },
      90_000,
    ).catch(async (error: unknown) => {
      const { body } = await daemon.rest('GET', `${base}/${path}`);
      throw new Error(`${String(error)}\n${JSON.stringify(body)}\n${agent.log}`);
    });
  }
  const gone = (path: string): Promise<unknown> =>
    eventually(
      `${path} to go`,
      async () => (await daemon.rest('GET', `${base}/${path}`)).status === 404,
      90_000,
    ).catch(async (error: unknown) => {
      const { body } = await daemon.rest('GET', `${base}/${path}`);
      throw new Error(`${String(error)}\n${JSON.stringify(body)}\n${agent.log}`);
    });
  const isAsked =
    (type: string) =>
    ({ conditions }: Shown): boolean =>
      (conditions as readonly Shown[]).some((c) => c.type === type && c.reason === 'WaitsForNode');
  const make = (name: string, more: object = {}): Promise<unknown> =>
    daemon.ok('POST', `${base}/volumes`, {
      name,
      storageClassName: 'far',
      size: '1Mi',
      accessMode: 'ReadWriteOnce',
      ...more,
    });
  /** Makes a request while the agent is stopped, checks that it is awaited, and starts a new agent that executes it. */
  async function whileGone(ask: () => Promise<unknown>, path: string, type: string): Promise<void> {
    await agent.end('SIGKILL');
    await ask();
    await until(path, `the condition ${type} to name the awaited node`, isAsked(type));
    await agent.run();
  }

  it('are provisioned, copied, grown, restored and deleted there, over kills, and never by the daemon', async () => {
    await whileGone(() => make('data'), 'volumes/data', 'Provisioned');
    const made = await until('volumes/data', 'Available', (v) => v.status === 'Available');
    const handle = String(made.handle);
    expect(handle.startsWith(join(daemon.home, 'far', 'volumes')), handle).to.equal(true);

    // The process runtime does not support volumes of this driver, and no container engine is available: written in
    // place.
    await writeFile(join(handle, 'file'), 'kept\n');

    const snapshot = { name: 'copy', source: { volume: 'data' } };
    await whileGone(
      () => daemon.ok('POST', `${base}/snapshots`, snapshot),
      'snapshots/copy',
      'Ready',
    );
    const copy = await until('snapshots/copy', 'Ready', (s) => s.status === 'Ready');
    expect(copy.topology).to.deep.equal({ 'svc.io/node': node });
    await until('volumes/data', 'free', (v) => (v.snapshotsInFlight as unknown[]).length === 0);

    await whileGone(
      () => daemon.ok('POST', `${base}/volumes/data:resize`, { size: '2Mi' }),
      'volumes/data',
      'Resizing',
    );
    await until('volumes/data', 'to be larger', (v) => v.sizeBytes === String(2 * 1024 ** 2));

    await daemon.crash();
    await make('again', { size: '2Mi', source: { snapshot: 'copy' } });
    const again = await until('volumes/again', 'Available', (v) => v.status === 'Available');
    expect(await readFile(join(String(again.handle), 'file'), 'utf8')).to.equal('kept\n');
    await until('snapshots/copy', 'free', (s) => (s.restoresInFlight as unknown[]).length === 0);

    await whileGone(() => daemon.ok('DELETE', `${base}/volumes/data`), 'volumes/data', 'Deleted');
    await gone('volumes/data');
    expect(existsSync(handle)).to.equal(false);
    await whileGone(
      () => daemon.ok('DELETE', `${base}/snapshots/copy`),
      'snapshots/copy',
      'Deleted',
    );
    await gone('snapshots/copy');
    expect(existsSync(String(copy.handle))).to.equal(false);
    await daemon.ok('DELETE', `${base}/volumes/again`);
    await gone('volumes/again');
    expect(existsSync(String(again.handle))).to.equal(false);

    const calls = (): readonly string[] =>
      daemon.log.split('\n').filter((line) => line.includes('"msg":"driver call"'));
    expect(calls(), 'calls of the daemon').to.deep.equal([]);
    await make('near', { storageClassName: 'near' });
    await until('volumes/near', 'Available', (v) => v.status === 'Available');
    expect(calls(), 'calls for its own volume').to.have.length(1);
  });
});
